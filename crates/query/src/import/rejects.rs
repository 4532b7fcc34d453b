//! The list of rows that were left out.

/// More of the list is not kept.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Rows that were left out, as CSV: line, reason, and the row's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejects {
    csv: String,
    count: u64,
    is_cut: bool,
}

impl Rejects {
    pub(super) fn new(names: &[String]) -> Self {
        let mut csv = "line,reason".to_owned();
        for name in names {
            csv.push(',');
            push_field(&mut csv, name);
        }
        csv.push('\n');
        Self {
            csv,
            count: 0,
            is_cut: false,
        }
    }

    pub(super) fn add<'a>(
        &mut self,
        line: u64,
        reason: &str,
        values: impl Iterator<Item = Option<&'a str>>,
    ) {
        self.count += 1;
        if self.csv.len() >= MAX_BYTES {
            self.is_cut = true;
            return;
        }
        self.csv.push_str(&line.to_string());
        self.csv.push(',');
        push_field(&mut self.csv, reason);
        for value in values {
            self.csv.push(',');
            if let Some(value) = value {
                push_field(&mut self.csv, value);
            }
        }
        self.csv.push('\n');
    }

    /// How many rows were left out.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The list.
    pub fn csv(&self) -> &str {
        &self.csv
    }

    /// Whether the list has not all of them.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// Always with quotes, which tell an empty text from NULL.
fn push_field(csv: &mut String, value: &str) {
    csv.push('"');
    csv.push_str(&value.replace('"', "\"\""));
    csv.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_csv() {
        let mut rejects = Rejects::new(&["a".to_owned(), "b\"".to_owned()]);
        rejects.add(7, "no, \"really\"", [Some(""), None].into_iter());
        assert_eq!(
            rejects.csv(),
            "line,reason,\"a\",\"b\"\"\"\n7,\"no, \"\"really\"\"\",\"\",\n"
        );
        assert_eq!((rejects.count(), rejects.is_cut()), (1, false));
    }
}
