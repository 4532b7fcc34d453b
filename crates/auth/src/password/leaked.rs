//! Checks passwords with Have I Been Pwned by the first five digits of the SHA-1, so that the
//! service never gets the password or its hash.

use std::time::Duration;

use aws_lc_rs::digest;
use data_encoding::HEXUPPER;

use crate::{AuthError, config::HibpConfig, request::RequestContext};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// If the service is unavailable, a setting decides.
pub(super) async fn is_leaked(
    context: &RequestContext,
    config: &HibpConfig,
    password: &str,
) -> Result<bool, AuthError> {
    let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
    let hash = HEXUPPER.encode(hash.as_ref());
    let (prefix, suffix) = hash.split_at(5);
    match fetch_range(context, config, prefix).await {
        Ok(range) => Ok(range_contains(&range, suffix)),
        Err(error) if config.fails_closed => Err(AuthError::leaked_password_check_failed(error)),
        Err(error) => {
            tracing::warn!(%error, "leaked-password check failed: {error}");
            Ok(false)
        }
    }
}

/// The suffixes of all hashes with this prefix, with padding that hides their number.
async fn fetch_range(
    context: &RequestContext,
    config: &HibpConfig,
    prefix: &str,
) -> Result<String, reqwest::Error> {
    let base = config.url.trim_end_matches('/');
    let request = context.service.http().get(format!("{base}/range/{prefix}"));
    let request = request
        .timeout(REQUEST_TIMEOUT.min(context.config.http_timeout))
        .header("Add-Padding", "true")
        .header(http::header::USER_AGENT, &config.user_agent);
    request.send().await?.error_for_status()?.text().await
}

/// Lines of `<suffix>:<count>`; padding has a count of 0.
fn range_contains(range: &str, suffix: &str) -> bool {
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
        assert!(range_contains(range, "1E4C9B93F3F0682250B6CF8331B7EE68FD8"));
        assert!(range_contains(range, "0018a45c4d1def81644b54ab7f969b88d65"));
        assert!(!range_contains(
            range,
            "00D4F6E8FA6EECAD2A3AA415EEC418D38EC"
        ));
        assert!(!range_contains(
            range,
            "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
        ));
        assert!(!range_contains("", ""));
    }
}
