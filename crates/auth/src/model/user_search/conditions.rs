//! Which users a search finds, as SQL.

use time::OffsetDateTime;

use super::{Conditions, IdPrefix, Metadata, PhonePrefix};
use crate::model::{
    like,
    user_list::{CommonPieces, Pieces},
};

const FULL_NAME: &str = "u.raw_user_meta_data ->> 'full_name'";
const NAME: &str = "u.raw_user_meta_data ->> 'name'";
/// As the index on `name` has it.
const WITHOUT_FULL_NAME: &str = "u.raw_user_meta_data ->> 'full_name' is null";
const EMAIL: &str = "lower(u.email)";

/// The conditions of a search; all must hold.
#[derive(Default)]
pub(crate) struct Filter {
    /// A text in any of several columns.
    pub(crate) anything: Option<Text>,
    pub(crate) email: Option<Text>,
    pub(crate) name: Option<Text>,
    pub(crate) phone: Option<PhonePrefix>,
    pub(crate) id: Option<IdPrefix>,
    pub(crate) metadata: Option<Metadata>,
    pub(crate) is_confirmed: Option<bool>,
    pub(crate) is_banned: Option<bool>,
    pub(crate) is_anonymous: Option<bool>,
    pub(crate) has_factor: Option<bool>,
    pub(crate) provider: Option<String>,
    pub(crate) signed_in_since: Option<OffsetDateTime>,
    pub(crate) signed_in_until: Option<OffsetDateTime>,
    pub(crate) now: Option<OffsetDateTime>,
}

/// A text that is searched for, with the pieces by which an index finds it.
pub(crate) struct Text {
    text: String,
    email_pieces: Option<Vec<String>>,
    name_pieces: Option<Vec<String>>,
}

impl Text {
    /// `common` are the statistics of the indexes, `None` where there are no indexes.
    pub(crate) fn new(text: &str, common: Option<&CommonPieces>) -> Self {
        let text = text.to_lowercase();
        Self {
            email_pieces: common.and_then(|common| Pieces::of_email(&text, common)),
            name_pieces: common.and_then(|common| Pieces::of_name(&text, common)),
            text,
        }
    }

    fn pattern(&self) -> String {
        like::containing(&self.text)
    }

    /// One condition for the address, `and`ed with what the index has.
    fn in_email(&self, conditions: &mut Conditions) -> String {
        let pattern = conditions.bind(self.pattern());
        let matches = format!("{EMAIL} like {pattern}");
        with_pieces(conditions, "u.email", self.email_pieces.as_ref(), matches)
    }

    /// Two conditions for the name, each of which one index serves.
    fn in_names(&self, conditions: &mut Conditions) -> [String; 2] {
        let pattern = conditions.bind(self.pattern());
        let pieces = self.name_pieces.as_ref();
        let full = format!("{FULL_NAME} ilike {pattern}");
        let full = with_pieces(conditions, FULL_NAME, pieces, full);
        let other = format!("{WITHOUT_FULL_NAME} and {NAME} ilike {pattern}");
        let other = with_pieces(conditions, NAME, pieces, other);
        [full, other]
    }
}

fn with_pieces(
    conditions: &mut Conditions,
    indexed: &str,
    pieces: Option<&Vec<String>>,
    matches: String,
) -> String {
    match pieces {
        None => matches,
        Some(pieces) => {
            let pieces = conditions.bind(pieces.clone());
            format!("auth.search_pieces({indexed}) @> {pieces} and {matches}")
        }
    }
}

impl Filter {
    pub(super) fn conditions(&self) -> Conditions {
        let mut conditions = Conditions::default();
        let c = &mut conditions;
        if let Some(text) = &self.anything {
            add_anything(c, text);
        }
        if let Some(text) = &self.email {
            let clause = text.in_email(c);
            c.add(clause);
        }
        if let Some(text) = &self.name {
            let alternatives = text.in_names(c);
            add_alternatives(c, &alternatives, text.name_pieces.is_some());
        }
        if let Some(prefix) = &self.phone {
            let clause = in_phone(c, prefix);
            c.add(clause);
        }
        if let Some(prefix) = &self.id {
            let clause = in_id(c, prefix);
            c.add(clause);
        }
        if let Some(metadata) = &self.metadata {
            add_metadata(c, metadata);
        }
        self.add_states(c);
        conditions
    }

    fn add_states(&self, c: &mut Conditions) {
        match self.is_confirmed {
            Some(true) => c.add("u.confirmed_at is not null"),
            Some(false) => c.add("u.confirmed_at is null"),
            None => {}
        }
        if let (Some(is_banned), Some(now)) = (self.is_banned, self.now) {
            let now = c.bind(now);
            c.add(if is_banned {
                format!("u.banned_until > {now}")
            } else {
                format!("(u.banned_until is null or u.banned_until <= {now})")
            });
        }
        if let Some(is_anonymous) = self.is_anonymous {
            let value = c.bind(is_anonymous);
            c.add(format!("u.is_anonymous = {value}"));
        }
        if let Some(has_factor) = self.has_factor {
            let not = if has_factor { "" } else { "not " };
            c.add(format!(
                "{not}exists (select from auth.mfa_factors f
                   where f.user_id = u.id and f.status = 'verified')"
            ));
        }
        if let Some(provider) = &self.provider {
            let provider = c.bind(provider.clone());
            c.add(format!(
                "u.id in (select i.user_id from auth.identities i where i.provider = {provider})"
            ));
        }
        if let Some(since) = self.signed_in_since {
            let since = c.bind(since);
            c.add(format!("u.last_sign_in_at >= {since}"));
        }
        if let Some(until) = self.signed_in_until {
            let until = c.bind(until);
            c.add(format!("u.last_sign_in_at < {until}"));
        }
    }
}

fn add_anything(c: &mut Conditions, text: &Text) {
    let email = text.in_email(c);
    let [full_name, name] = text.in_names(c);
    let mut alternatives = vec![email, full_name, name];
    if let Some(prefix) = PhonePrefix::guess(&text.text) {
        alternatives.push(in_phone(c, &prefix));
    }
    if let Some(prefix) = IdPrefix::guess(&text.text) {
        alternatives.push(in_id(c, &prefix));
    }
    let is_indexed = text.email_pieces.is_some() && text.name_pieces.is_some();
    add_alternatives(c, &alternatives, is_indexed);
}

/// Where each alternative has an index, each is a query of its own: an `or` would compute the pieces of
/// every row again.
fn add_alternatives(c: &mut Conditions, alternatives: &[String], is_indexed: bool) {
    c.add(if is_indexed {
        let queries = alternatives
            .iter()
            .map(|clause| format!("select u.id from auth.users u where {clause}"));
        let queries: Vec<String> = queries.collect();
        format!("u.id in ({})", queries.join(" union all "))
    } else {
        let clauses = alternatives.iter().map(|clause| format!("({clause})"));
        let clauses: Vec<String> = clauses.collect();
        format!("({})", clauses.join(" or "))
    });
}

/// Compared letter by letter, as the index is sorted.
fn in_phone(c: &mut Conditions, prefix: &PhonePrefix) -> String {
    let (from, to) = (c.bind(prefix.from.clone()), c.bind(prefix.to.clone()));
    format!("u.phone ~>=~ {from} and u.phone ~<~ {to}")
}

fn in_id(c: &mut Conditions, prefix: &IdPrefix) -> String {
    let (first, last) = (c.bind(prefix.first), c.bind(prefix.last));
    format!("u.id between {first} and {last}")
}

fn add_metadata(c: &mut Conditions, metadata: &Metadata) {
    let column = if metadata.is_app {
        "u.raw_app_meta_data"
    } else {
        "u.raw_user_meta_data"
    };
    let alternatives: Vec<String> = metadata
        .alternatives
        .iter()
        .map(|value| format!("{column} @> {}", c.bind(value.clone())))
        .collect();
    c.add(format!("({})", alternatives.join(" or ")));
}
