//! From the settings tree.

use plinth_project::FromSettings;
use plinth_settings::Settings;

use super::AuthConfig;

impl FromSettings for AuthConfig {
    fn from_settings(_settings: &Settings) -> Self {
        todo!("written next")
    }
}
