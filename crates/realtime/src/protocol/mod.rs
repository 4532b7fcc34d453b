//! Frames (realtime contract §3): what arrives on a socket as [`Incoming`], what leaves it as
//! messages that are encoded once and shared by everybody who gets them.
//!
//! Nothing here knows a channel or a project.

mod binary;
mod broadcast;
mod incoming;
mod outgoing;
mod raw_object;
mod text;

pub(crate) use broadcast::{Body, Broadcast, UserBroadcast};
pub(crate) use incoming::{Incoming, Malformed, Payload, Ref};
pub(crate) use outgoing::{Frame, push_json_text, reply};
pub(crate) use raw_object::RawObject;

/// Which of the two serialisers a socket speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Version {
    /// JSON objects, text only.
    V1,
    /// JSON arrays, and broadcasts as binary frames.
    V2,
}

impl Version {
    /// Reads `vsn`, as the requirements `~> 1.0.0` and `~> 2.0.0` would match it. Clients that say
    /// nothing are of the first generation.
    pub(crate) fn read(vsn: Option<&str>) -> Option<Self> {
        let Some(vsn) = vsn else {
            return Some(Self::V1);
        };
        let mut parts = vsn.split('.');
        let (major, minor, patch) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if minor != "0" || !is_number(patch) || parts.next().is_some() {
            return None;
        }
        match major {
            "1" => Some(Self::V1),
            "2" => Some(Self::V2),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_versions_are_spoken() {
        let check = |vsn, expected| assert_eq!(Version::read(vsn), expected, "{vsn:?}");
        check(None, Some(Version::V1));
        check(Some("1.0.0"), Some(Version::V1));
        check(Some("1.0.7"), Some(Version::V1));
        check(Some("2.0.0"), Some(Version::V2));
        check(Some("2.1.0"), None);
        check(Some("3.0.0"), None);
        check(Some("2"), None);
        check(Some("2.0.0.0"), None);
        check(Some("2.0.x"), None);
        check(Some(""), None);
    }
}
