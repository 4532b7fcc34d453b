//! Whether a password is in the hands of everybody already: asked of Have I Been Pwned by the first
//! five digits of its SHA-1, so that the service never learns which password was meant.

use std::time::Duration;

use aws_lc_rs::digest;
use data_encoding::HEXUPPER;

use crate::{AuthError, config::HibpConfig, request::Context};

const PATIENCE: Duration = Duration::from_secs(5);

/// An outage of the service counts as the project wants it to.
pub(super) async fn is_leaked(
    context: &Context,
    config: &HibpConfig,
    password: &str,
) -> Result<bool, AuthError> {
    let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
    let hash = HEXUPPER.encode(hash.as_ref());
    let (prefix, suffix) = hash.split_at(5);
    match range(context, config, prefix).await {
        Ok(range) => Ok(lists(&range, suffix)),
        Err(error) if config.fails_closed => Err(AuthError::internal(
            "Unable to perform password strength check with HaveIBeenPwned.org.",
            error,
        )),
        Err(error) => {
            tracing::warn!(%error, "leaked passwords cannot be recognised at the moment: {error}");
            Ok(false)
        }
    }
}

/// All suffixes that begin so, among made-up ones that hide how many there are.
async fn range(
    context: &Context,
    config: &HibpConfig,
    prefix: &str,
) -> Result<String, reqwest::Error> {
    let base = config.url.trim_end_matches('/');
    let request = context.service.http().get(format!("{base}/range/{prefix}"));
    let request = request
        .timeout(PATIENCE.min(context.config.http_timeout))
        .header("Add-Padding", "true")
        .header(http::header::USER_AGENT, &config.user_agent);
    request.send().await?.error_for_status()?.text().await
}

/// Lines of `<suffix>:<count>`; the made-up ones have a count of 0.
fn lists(range: &str, suffix: &str) -> bool {
    range.lines().any(|line| {
        let Some((listed, count)) = line.trim().split_once(':') else {
            return false;
        };
        listed.eq_ignore_ascii_case(suffix) && count.trim() != "0"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_counts_unless_it_is_padding() {
        let range = "0018A45C4D1DEF81644B54AB7F969B88D65:1\r\n\
                     1E4C9B93F3F0682250B6CF8331B7EE68FD8:10437277\r\n\
                     00D4F6E8FA6EECAD2A3AA415EEC418D38EC:0\r\nnonsense\r\n";
        assert!(lists(range, "1E4C9B93F3F0682250B6CF8331B7EE68FD8"));
        assert!(lists(range, "0018a45c4d1def81644b54ab7f969b88d65"));
        assert!(!lists(range, "00D4F6E8FA6EECAD2A3AA415EEC418D38EC"));
        assert!(!lists(range, "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"));
        assert!(!lists("", ""));
    }
}
