//! Pending changes of cookies, and the headers that apply them (C16, C19, C20).

use plinth_client::auth::is_flow_id;
use zeroize::Zeroize as _;

use super::header::Cookies;
use super::name::{Piece, is_chunk_like, piece_of};
use super::options::CookieOptions;
use super::split::split;
use super::value::Encoding;
use super::write::Write;

/// Values to set and to remove, by key. The last change of a key counts, and headers are made from the
/// difference to the request: a value that changed several times is written once.
#[derive(Default)]
pub struct Changes {
    sets: Vec<(String, String)>,
    removals: Vec<String>,
}

/// Who writes the cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A server: unchanged cookies are not sent again.
    Server,
    /// A client in the browser, which writes all chunks so that they expire together.
    Browser,
}

impl Changes {
    /// Sets a value.
    pub fn set(&mut self, key: impl Into<String>, item: impl Into<String>) {
        let (key, item) = (key.into(), item.into());
        self.removals.retain(|removed| *removed != key);
        match self.sets.iter_mut().find(|(name, _)| *name == key) {
            Some((_, current)) => *current = item,
            None => self.sets.push((key, item)),
        }
    }

    /// Removes a value.
    pub fn remove(&mut self, key: impl Into<String>) {
        let key = key.into();
        self.sets.retain(|(name, _)| *name != key);
        if !self.removals.contains(&key) {
            self.removals.push(key);
        }
    }

    /// The pending change of a key: none, a removal, or a new value.
    pub fn get(&self, key: &str) -> Option<Option<&str>> {
        if self.removals.iter().any(|removed| removed == key) {
            return Some(None);
        }
        let found = self.sets.iter().find(|(name, _)| name == key);
        found.map(|(_, item)| Some(item.as_str()))
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty() && self.removals.is_empty()
    }

    /// Removes a session and all pending sign-in flows, in the order of the reference (C22). `index` is the
    /// item that lists those flows.
    pub fn remove_session(&mut self, key: &str, index: Option<&str>) {
        let flows = index.and_then(|text| serde_json::from_str::<Vec<String>>(text).ok());
        let flows = flows.unwrap_or_default().into_iter();
        for flow in flows.filter(|flow| is_flow_id(flow)).take(MAX_FLOWS) {
            self.remove(format!("{key}-flow-{flow}-code-verifier"));
        }
        self.remove(flow_index(key));
        self.remove(key);
        self.remove(format!("{key}-code-verifier"));
    }

    /// The cookies to write, in the order that browsers must see: removals, each for the host alone first where
    /// a domain is configured, then new values.
    pub fn plan(
        &self,
        request: &Cookies,
        options: &CookieOptions,
        encoding: Encoding,
        side: Side,
    ) -> Vec<Write> {
        let mut removed: Vec<&str> = Vec::new();
        // The reference removes a flow's own cookies at once, and the others with the event (C21).
        let (flows, others) = self
            .removals
            .iter()
            .partition::<Vec<_>, _>(|key| is_flows_own(key));
        for key in flows.into_iter().chain(others) {
            removed.extend(names(request, |name| is_chunk_like(name, key)));
        }
        let mut set = Vec::new();
        for (key, item) in &self.sets {
            let chunks = split(key, &encoding.encode(item));
            let is_left_over = |name: &str| match piece_of(name, key) {
                None => false,
                Some(Piece::Whole) => chunks.len() > 1,
                Some(Piece::Chunk(index)) => chunks.len() == 1 || index >= chunks.len(),
            };
            removed.extend(names(request, is_left_over));
            let is_changed = |(name, value): &(String, String)| {
                side == Side::Browser || request.value(name) != Some(value)
            };
            set.extend(chunks.into_iter().filter(is_changed));
        }

        let on_host = options.domain.iter().flat_map(|_| &removed);
        let on_host = on_host.map(|name| Write::removal(name, None, &options.path));
        let domain = options.domain.as_deref();
        let removals = removed
            .iter()
            .map(|name| Write::removal(name, domain, &options.path));
        let sets = set
            .into_iter()
            .map(|(name, value)| Write::set(name, value, options));
        on_host.chain(removals).chain(sets).collect()
    }
}

/// Clients keep five pending flows. The list is written by the browser, and every entry costs a scan of all
/// cookies.
const MAX_FLOWS: usize = 64;

/// The key of the item that lists a session's pending flows (S7).
pub fn flow_index(key: &str) -> String {
    format!("{key}-flows-code-verifier")
}

/// Whether a key belongs to a flow, or to their index.
fn is_flows_own(key: &str) -> bool {
    let of_flows = key.strip_suffix("-code-verifier");
    of_flows.is_some_and(|rest| rest.ends_with("-flows") || rest.contains("-flow-"))
}

fn names(request: &Cookies, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let names = request.iter().map(|cookie| cookie.name.as_str());
    names.filter(move |name| is_wanted(name))
}

/// Items are credentials and are wiped with the request (A40).
impl Drop for Changes {
    fn drop(&mut self) {
        for (_, item) in &mut self.sets {
            item.zeroize();
        }
    }
}

/// Items are credentials: only the keys are printed.
impl std::fmt::Debug for Changes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<&str> = self.sets.iter().map(|(key, _)| key.as_str()).collect();
        formatter
            .debug_struct("Changes")
            .field("sets", &keys)
            .field("removals", &self.removals)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(changes: &Changes, request: &str) -> Vec<String> {
        let options = CookieOptions::default();
        let request = Cookies::parse(request);
        let writes = changes.plan(&request, &options, Encoding::Raw, Side::Server);
        let text = |write: &Write| format!("{}={}", write.name, write.value);
        writes.iter().map(text).collect()
    }

    #[test]
    fn the_last_word_about_a_key_counts() {
        let mut changes = Changes::default();
        assert!(changes.is_empty());

        changes.set("a", "1");
        changes.remove("b");
        assert_eq!(
            (changes.get("a"), changes.get("b")),
            (Some(Some("1")), Some(None))
        );
        assert_eq!(changes.get("c"), None);

        changes.remove("a");
        changes.set("b", "2");
        changes.set("b", "3");
        assert_eq!(
            (changes.get("a"), changes.get("b")),
            (Some(None), Some(Some("3")))
        );
        assert_eq!(plan(&changes, "a=0; b=0"), ["a=", "b=3"]);
    }

    #[test]
    fn a_long_list_of_sign_ins_is_not_followed_to_its_end() {
        let flows: Vec<String> = (0..5000).map(|n| format!("{n:022}")).collect();
        let index = serde_json::to_string(&flows).unwrap();
        let mut changes = Changes::default();

        changes.remove_session("s", Some(&index));

        assert_eq!(changes.removals.len(), MAX_FLOWS + 3);
    }

    #[test]
    fn what_the_browser_has_or_never_had_is_not_written() {
        let mut changes = Changes::default();
        changes.set("a", "1");
        changes.remove("b");

        assert_eq!(plan(&changes, "a=1"), Vec::<String>::new());
        assert_eq!(
            plan(&changes, "a=1; a.7=x; b.2=y; b-code-verifier=z"),
            ["b.2=", "a.7="]
        );
    }
}
