//! String interning: a large schema repeats the same few names and types thousands of times.

use std::{collections::HashSet, sync::Arc};

use super::QualifiedName;

#[derive(Default)]
pub(super) struct Interner {
    known: HashSet<Arc<str>>,
}

impl Interner {
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(shared) = self.known.get(text) {
            return shared.clone();
        }
        let shared = Arc::<str>::from(text);
        self.known.insert(shared.clone());
        shared
    }

    pub(super) fn share_all(&mut self, texts: &[&str]) -> Vec<Arc<str>> {
        texts.iter().map(|text| self.share(text)).collect()
    }

    pub(super) fn share_name(&mut self, schema: &str, name: &str) -> QualifiedName {
        QualifiedName {
            schema: self.share(schema),
            name: self.share(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_text() {
        let mut interner = Interner::default();

        let first = interner.share("id");
        let second = interner.share(&String::from("id"));

        assert!(Arc::ptr_eq(&first, &second));
    }
}
