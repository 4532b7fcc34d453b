//! What to look for in the log.

mod cursor;
mod parse;
mod pattern;
mod prefilter;
mod term;

pub use cursor::Cursor;
pub use term::Term;

pub(crate) use cursor::Position;
pub(crate) use prefilter::Prefilter;

use crate::{Level, QueryError, Record, Source, Timestamp, is_valid_project};

/// The largest page.
pub const MAX_LIMIT: usize = 1000;
/// The most terms a query bar may hold.
pub(crate) const MAX_TERMS: usize = 50;
/// The longest text a query bar may hold.
pub(crate) const MAX_TERMS_BYTES: usize = 4096;

const DEFAULT_LIMIT: usize = 100;

/// Which projects may be seen. An empty list means none, never all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every project there is.
    All,
    /// These projects, by ref.
    Projects(Vec<String>),
}

/// What to look for. All conditions must hold; those left empty hold always.
#[derive(Debug, Clone)]
pub struct Query {
    /// Which projects.
    pub scope: Scope,
    /// Which sources; empty for all.
    pub sources: Vec<Source>,
    /// This level or a worse one.
    pub level: Option<Level>,
    /// Not before this moment.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub until: Option<Timestamp>,
    /// Terms of the query bar, see [`Query::parse_terms`].
    pub terms: Vec<Term>,
    /// How many records make a page, 1 to [`MAX_LIMIT`]. Default 100.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<Cursor>,
}

impl Query {
    /// Everything in `scope`.
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            sources: Vec::new(),
            level: None,
            since: None,
            until: None,
            terms: Vec::new(),
            limit: DEFAULT_LIMIT,
            cursor: None,
        }
    }

    /// Everything in every project.
    pub fn all() -> Self {
        Self::new(Scope::All)
    }

    /// Everything in one project.
    pub fn project(project: impl Into<String>) -> Self {
        Self::new(Scope::Projects(vec![project.into()]))
    }

    /// Reads what people type into the query bar.
    ///
    /// Terms are separated by spaces and must all hold. `key:value` looks at a field, `*` in the
    /// value stands for any text, `status:5xx` for a class. Other words are searched for in the
    /// message and in every value. `-` before a term excludes. Quotes keep spaces together and take
    /// every character as it is. Upper and lower case are the same.
    ///
    /// ```
    /// use plinth_log::Query;
    ///
    /// let terms = Query::parse_terms(r#"status:5xx path:/rest/v1/* -level:debug "timed out""#)?;
    /// assert_eq!(terms.len(), 4);
    /// # Ok::<(), plinth_log::QueryError>(())
    /// ```
    pub fn parse_terms(text: &str) -> Result<Vec<Term>, QueryError> {
        parse::parse_terms(text)
    }

    /// Whether a record meets all conditions; page and cursor play no part.
    pub fn matches(&self, record: &Record) -> bool {
        self.covers(&record.project, record.source)
            && self.level.is_none_or(|level| record.level >= level)
            && self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time < until)
            && self.terms.iter().all(|term| term.matches(record))
    }

    /// Whether anything from this source of this project can match at all.
    pub(crate) fn covers(&self, project: &str, source: Source) -> bool {
        self.covers_project(project) && self.covers_source(source)
    }

    fn covers_project(&self, project: &str) -> bool {
        match &self.scope {
            Scope::All => true,
            Scope::Projects(projects) => projects.iter().any(|known| known == project),
        }
    }

    fn covers_source(&self, source: Source) -> bool {
        self.sources.is_empty() || self.sources.contains(&source)
    }

    pub(crate) fn check(&self) -> Result<(), QueryError> {
        if !(1..=MAX_LIMIT).contains(&self.limit) {
            return Err(QueryError::Limit(self.limit));
        }
        if self.terms.len() > MAX_TERMS {
            return Err(QueryError::TooManyTerms(self.terms.len()));
        }
        match &self.scope {
            Scope::All => Ok(()),
            Scope::Projects(projects) => match projects.iter().find(|p| !is_valid_project(p)) {
                Some(project) => Err(QueryError::InvalidProject(project.clone())),
                None => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record::new(Source::Auth, Level::Warn, "m")
            .project("shop")
            .at(Timestamp::from_micros(100))
    }

    #[test]
    fn an_empty_scope_sees_nothing() {
        assert!(Query::all().matches(&record()));
        assert!(Query::project("shop").matches(&record()));
        assert!(!Query::project("other").matches(&record()));
        assert!(!Query::new(Scope::Projects(Vec::new())).matches(&record()));
    }

    #[test]
    fn the_level_is_a_minimum() {
        let at_least = |level| Query {
            level: Some(level),
            ..Query::all()
        };

        assert!(at_least(Level::Info).matches(&record()));
        assert!(at_least(Level::Warn).matches(&record()));
        assert!(!at_least(Level::Error).matches(&record()));
    }

    #[test]
    fn the_range_includes_its_start_and_not_its_end() {
        let at = |micros| Some(Timestamp::from_micros(micros));
        let between = |since, until| Query {
            since,
            until,
            ..Query::all()
        };

        assert!(between(at(100), at(101)).matches(&record()));
        assert!(!between(at(101), None).matches(&record()));
        assert!(!between(None, at(100)).matches(&record()));
    }

    #[test]
    fn limits_and_refs_are_checked() {
        let with_limit = |limit| {
            Query {
                limit,
                ..Query::all()
            }
            .check()
        };

        assert_eq!(with_limit(0), Err(QueryError::Limit(0)));
        assert_eq!(with_limit(1000), Ok(()));
        assert_eq!(with_limit(1001), Err(QueryError::Limit(1001)));
        let outside = Query::project("../x").check();
        assert_eq!(outside, Err(QueryError::InvalidProject("../x".to_owned())));
    }
}
