//! Regions.

use std::fmt;

/// A region of the hosted service. Plinth itself has only one and accepts any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Region {
    /// Chosen by the service.
    #[default]
    Any,
    /// `ap-northeast-1`
    ApNortheast1,
    /// `ap-northeast-2`
    ApNortheast2,
    /// `ap-south-1`
    ApSouth1,
    /// `ap-southeast-1`
    ApSoutheast1,
    /// `ap-southeast-2`
    ApSoutheast2,
    /// `ca-central-1`
    CaCentral1,
    /// `eu-central-1`
    EuCentral1,
    /// `eu-west-1`
    EuWest1,
    /// `eu-west-2`
    EuWest2,
    /// `eu-west-3`
    EuWest3,
    /// `sa-east-1`
    SaEast1,
    /// `us-east-1`
    UsEast1,
    /// `us-west-1`
    UsWest1,
    /// `us-west-2`
    UsWest2,
    /// A region unknown to this version.
    Other(String),
}

impl Region {
    /// Its name on the wire.
    pub fn name(&self) -> &str {
        match self {
            Self::Any => "any",
            Self::ApNortheast1 => "ap-northeast-1",
            Self::ApNortheast2 => "ap-northeast-2",
            Self::ApSouth1 => "ap-south-1",
            Self::ApSoutheast1 => "ap-southeast-1",
            Self::ApSoutheast2 => "ap-southeast-2",
            Self::CaCentral1 => "ca-central-1",
            Self::EuCentral1 => "eu-central-1",
            Self::EuWest1 => "eu-west-1",
            Self::EuWest2 => "eu-west-2",
            Self::EuWest3 => "eu-west-3",
            Self::SaEast1 => "sa-east-1",
            Self::UsEast1 => "us-east-1",
            Self::UsWest1 => "us-west-1",
            Self::UsWest2 => "us-west-2",
            Self::Other(name) => name,
        }
    }

    /// The header value; `None` where the service may choose.
    pub(super) fn chosen(&self) -> Option<&str> {
        Some(self.name()).filter(|name| *name != "any")
    }
}

impl fmt::Display for Region {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
