//! Typed names of settings: what services look settings up by.
//!
//! The constants in [`crate::keys`] are the only keys there are. Each fixes the type of its value,
//! so a look-up with a wrong name or a wrong type does not compile.

use std::fmt;
use std::marker::PhantomData;

use crate::declaration::Declaration;
use crate::form::Form;
use crate::path::SettingPath;

/// Names a setting and the type of its value; `Option<T>` where it may be left unset.
pub type Key<T> = SettingKey<'static, T>;

/// Names a setting. A [`Key`] is one with a fixed name, a [`MemberKey`] gives one for each member
/// of a map.
pub struct SettingKey<'m, T> {
    declaration: Declaration,
    member: Option<&'m str>,
    value: PhantomData<fn() -> T>,
}

/// Names a setting that each member of a map has, such as `functions.<name>.verify_jwt`.
pub struct MemberKey<T> {
    declaration: Declaration,
    value: PhantomData<fn() -> T>,
}

impl<T> SettingKey<'static, T> {
    pub(crate) const fn declare(form: Form<T>, meaning: &'static str) -> Self {
        let declaration = form.declaration(meaning);
        assert!(
            !declaration.is_wildcard(),
            "a name with * is that of a MemberKey"
        );
        Self {
            declaration,
            member: None,
            value: PhantomData,
        }
    }

    /// The dotted name.
    pub const fn path(self) -> &'static str {
        self.declaration.path
    }
}

impl<T> SettingKey<'_, T> {
    pub(crate) const fn declaration(self) -> Declaration {
        self.declaration
    }

    pub(crate) fn setting_path(self) -> SettingPath {
        let segments = self.declaration.path.split('.');
        segments
            .map(|segment| match (segment, self.member) {
                ("*", Some(member)) => member,
                (segment, _) => segment,
            })
            .collect()
    }
}

impl<T> MemberKey<T> {
    pub(crate) const fn declare(form: Form<T>, meaning: &'static str) -> Self {
        let declaration = form.declaration(meaning);
        assert!(
            declaration.is_wildcard(),
            "a name without * is that of a Key"
        );
        Self {
            declaration,
            value: PhantomData,
        }
    }

    /// The setting of this member. A member that is not configured has the defaults.
    pub const fn of(self, member: &str) -> SettingKey<'_, T> {
        SettingKey {
            declaration: self.declaration,
            member: Some(member),
            value: PhantomData,
        }
    }

    pub(crate) const fn declaration(self) -> Declaration {
        self.declaration
    }
}

// Derived ones would ask the same of `T`.
impl<T> Clone for SettingKey<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SettingKey<'_, T> {}

impl<T> Clone for MemberKey<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MemberKey<T> {}

impl<T> fmt::Display for SettingKey<'_, T> {
    /// The dotted name, as it is written in a file or on the command line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.setting_path().fmt(formatter)
    }
}

impl<T> fmt::Debug for SettingKey<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Key({self})")
    }
}

impl<T> fmt::Debug for MemberKey<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "MemberKey({})", self.declaration.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{plinth, storage};
    use crate::settings::Settings;
    use crate::value_type::ValueType;

    impl<T: ValueType> SettingKey<'_, T> {
        pub(crate) fn read_in_test(self, settings: &Settings) {
            settings.get(self);
        }
    }

    impl<T: ValueType> MemberKey<T> {
        /// Reads the setting of one member of each map.
        pub(crate) fn read_in_test(self, settings: &Settings) {
            for member in [
                "google",
                "send_sms",
                "invite",
                "images",
                "hello-world",
                "worker",
            ] {
                settings.get(self.of(member));
            }
        }
    }

    #[test]
    fn a_key_is_shown_as_its_dotted_name() {
        assert_eq!(plinth::TRASH.to_string(), "plinth.trash");
        assert_eq!(
            storage::BUCKETS_PUBLIC.of("my.files").to_string(),
            r#"storage.buckets."my.files".public"#
        );
    }
}
