//! Response headers that browsers apply to a whole origin or host, not to one response.

/// Whether it is one: about storage, transport, certificates, service workers, processes, reports, hints
/// or sessions of the origin.
pub(crate) fn is_origin_wide(name: &str) -> bool {
    matches!(
        name,
        "clear-site-data"
            | "strict-transport-security"
            | "service-worker-allowed"
            | "public-key-pins"
            | "public-key-pins-report-only"
            | "expect-ct"
            | "alt-svc"
            | "origin-agent-cluster"
            | "nel"
            | "report-to"
            | "reporting-endpoints"
            | "accept-ch"
            | "critical-ch"
            // A response that stands for paths of the whole origin.
            | "use-as-dictionary"
            // The browser's record of who is signed in, sessions bound to a device, access to storage.
            | "set-login"
            | "sec-session-registration"
            | "secure-session-registration"
            | "sec-session-challenge"
            | "secure-session-challenge"
            | "activate-storage-access"
    )
}
