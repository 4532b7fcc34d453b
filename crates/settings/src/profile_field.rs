//! One entry of `plinth.account.profile_fields`.

use std::collections::BTreeMap;

/// A field of the account pages' profile form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileField {
    /// Its name in the user's metadata.
    pub key: String,
    /// What the form calls it.
    pub label: String,
    /// Other labels, by language.
    pub labels: BTreeMap<String, String>,
    /// Whether it must be filled in.
    pub is_required: bool,
    /// Most characters, where the file limits them.
    pub max_length: Option<u16>,
}

impl ProfileField {
    /// What an entry may contain.
    pub(crate) const NAMES: &'static [&'static str] = &[
        "key", "label", "label_de", "label_en", "label_es", "label_fr", "label_pt", "required",
        "max",
    ];

    /// Reads an entry; the error says what is wrong with it.
    pub(crate) fn parse(record: &BTreeMap<String, String>) -> Result<Self, &'static str> {
        let text = |name: &str| record.get(name).filter(|text| !text.trim().is_empty());
        let (Some(key), Some(label)) = (text("key"), text("label")) else {
            return Err("every field needs a key and a label.");
        };
        let labels = record.iter().filter_map(|(name, label)| {
            let language = name.strip_prefix("label_")?;
            (!label.trim().is_empty()).then(|| (language.to_owned(), label.clone()))
        });
        let is_required = match record.get("required").map(String::as_str) {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return Err("required is true or false."),
        };
        let max_length = match record.get("max").map(|text| text.parse()) {
            None => None,
            Some(Ok(max)) if max > 0 => Some(max),
            Some(_) => return Err("max is an integer from 1 to 65535."),
        };
        Ok(Self {
            key: key.clone(),
            label: label.clone(),
            labels: labels.collect(),
            is_required,
            max_length,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(entries: &[(&str, &str)]) -> Result<ProfileField, &'static str> {
        let entries = entries.iter();
        let owned = entries.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ProfileField::parse(&owned.collect())
    }

    #[test]
    fn an_entry_needs_only_a_key_and_a_label() {
        let field = parse(&[("key", "name"), ("label", "Name")]).expect("valid");

        assert_eq!((field.is_required, field.max_length), (false, None));
        assert!(parse(&[("key", "name"), ("label", " ")]).is_err());
        assert!(parse(&[("key", "name")]).is_err());
    }

    #[test]
    fn a_label_can_be_translated() {
        let entries = [
            ("key", "a"),
            ("label", "Company"),
            ("label_de", "Firma"),
            ("label_fr", " "),
        ];
        let field = parse(&entries).expect("valid");

        let labels: Vec<_> = field.labels.into_iter().collect();
        assert_eq!(labels, [("de".to_owned(), "Firma".to_owned())]);
    }

    #[test]
    fn switches_and_numbers_are_checked() {
        let with = |name, value| parse(&[("key", "a"), ("label", "A"), (name, value)]);

        assert!(with("required", "true").expect("valid").is_required);
        assert_eq!(with("max", "40").expect("valid").max_length, Some(40));
        for (name, value) in [("required", "yes"), ("max", "0"), ("max", "65536")] {
            assert!(with(name, value).is_err(), "{name} = {value}");
        }
    }
}
