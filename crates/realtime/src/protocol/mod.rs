//! Frames (realtime contract §3). What arrives is parsed to an [`IncomingFrame`]; what is sent is
//! encoded once and shared by all sockets that receive it.
//!
//! Nothing here knows a project or keeps state.

mod binary;
mod broadcast;
mod incoming;
mod outgoing;
mod raw_object;
mod system;
mod text;
mod topic;

pub(crate) use broadcast::{Body, Broadcast, UserBroadcast};
pub(crate) use incoming::{FrameError, IncomingFrame, Payload, Ref};
pub(crate) use outgoing::{Frame, push_json_string, reply};
pub(crate) use raw_object::RawObject;
pub(crate) use system::{close_frame, system_frame};
pub(crate) use topic::{TOPIC_PREFIX, sub_topic};

/// The protocol version of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Version {
    /// JSON objects, text only.
    V1,
    /// JSON arrays, and broadcasts as binary frames.
    V2,
}

impl Version {
    /// Parses `vsn`, as the requirements `~> 1.0.0` and `~> 2.0.0` would match it; absent means
    /// version 1.
    pub(crate) fn parse(vsn: Option<&str>) -> Option<Self> {
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
    fn only_two_versions_are_supported() {
        let check = |vsn, expected| assert_eq!(Version::parse(vsn), expected, "{vsn:?}");
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
