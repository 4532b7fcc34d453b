//! PKCE flows: verifiers of pending sign-ins and their storage (client contract S51–S54, K10).

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::AuthError;
use crate::json::quote;
use crate::store::SessionStore;

/// K10: maximum number of pending sign-ins; beginning one more removes the oldest.
pub const MAX_PENDING_FLOWS: usize = 5;
/// Maximum length of a stored list, which may have been written by others.
const MAX_LISTED_FLOWS: usize = 64;
const VERIFIER_BYTES: usize = 56;
const FLOW_ID_BYTES: usize = 16;

/// A pending sign-in.
#[derive(Clone)]
pub struct Flow {
    id: String,
    challenge: String,
}

/// The flow of sign-ins that leave the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlowType {
    /// With a code that is useless without the verifier. Tokens never appear in a URL.
    #[default]
    Pkce,
}

/// Purpose of a pending sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectType {
    /// An ordinary one.
    SignIn,
    /// Password recovery: the user should now choose a password.
    Recovery,
}

/// The verifier of a sign-in, removed from the store.
pub struct TakenVerifier {
    /// Goes to [`AuthApi::exchange_code`](super::AuthApi::exchange_code).
    pub verifier: Zeroizing<String>,
    /// The purpose of the sign-in.
    pub redirect_type: RedirectType,
}

impl Flow {
    /// The flow id, which the redirect may carry (`sb_flow_id`).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The code challenge: a hash of the verifier.
    pub fn challenge(&self) -> &str {
        &self.challenge
    }
}

impl std::fmt::Debug for Flow {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Flow").finish_non_exhaustive()
    }
}

/// The pending sign-ins of one storage key.
#[derive(Clone)]
pub struct PendingFlows {
    store: Arc<dyn SessionStore>,
    key: String,
    /// Guards the read-modify-write of the index.
    changing: Arc<tokio::sync::Mutex<()>>,
}

impl PendingFlows {
    /// The pending sign-ins stored beside the session under `storage_key`.
    pub fn new(store: Arc<dyn SessionStore>, storage_key: &str) -> Self {
        Self {
            store,
            key: storage_key.to_owned(),
            changing: Arc::default(),
        }
    }

    /// Generates a verifier and stores it: in a slot of its own, in the index, and as the latest.
    pub async fn begin(&self, redirect_type: RedirectType) -> Result<Flow, AuthError> {
        let verifier = Zeroizing::new(random_hex(VERIFIER_BYTES)?);
        let flow = Flow {
            id: random_hex(FLOW_ID_BYTES)?,
            challenge: challenge_of(&verifier),
        };
        let stored = match redirect_type {
            RedirectType::SignIn => quote(&verifier),
            RedirectType::Recovery => quote(&format!("{}/recovery", *verifier)),
        };
        let _changing = self.changing.lock().await;
        self.store.set(&self.slot(&flow.id), stored.clone()).await?;
        let mut index = self.index().await?;
        index.push(flow.id.clone());
        while index.len() > MAX_PENDING_FLOWS {
            self.store.remove(&self.slot(&index.remove(0))).await?;
        }
        self.write_index(&index).await?;
        self.store.set(&self.latest(), stored).await?;
        Ok(flow)
    }

    /// Removes a sign-in that could not be started.
    pub async fn abandon(&self, flow: &Flow) -> Result<(), AuthError> {
        let _changing = self.changing.lock().await;
        let text = self.store.get(&self.slot(&flow.id)).await?;
        self.remove_flow(Some(&flow.id), text.as_deref()).await
    }

    /// Takes the verifier of this flow and no other, or the latest. It is removed even if the exchange fails.
    pub async fn take(&self, flow_id: Option<&str>) -> Result<TakenVerifier, AuthError> {
        if flow_id.is_some_and(|id| !is_flow_id(id)) {
            return Err(AuthError::InvalidInput("The flow id is malformed"));
        }
        let _changing = self.changing.lock().await;
        let key = flow_id.map_or_else(|| self.latest(), |id| self.slot(id));
        let text = self.store.get(&key).await?;
        let stored = text
            .as_deref()
            .and_then(|text| serde_json::from_str::<String>(text).ok());
        let stored = stored
            .filter(|stored| !stored.is_empty())
            .map(Zeroizing::new);
        let stored = stored.ok_or(AuthError::VerifierMissing)?;
        self.remove_flow(flow_id, text.as_deref()).await?;
        let (verifier, redirect_type) = match stored.split_once('/') {
            Some((verifier, "recovery")) => (verifier, RedirectType::Recovery),
            Some((verifier, _)) => (verifier, RedirectType::SignIn),
            None => (stored.as_str(), RedirectType::SignIn),
        };
        Ok(TakenVerifier {
            verifier: Zeroizing::new(verifier.to_owned()),
            redirect_type,
        })
    }

    /// Whether a verifier is stored for this flow, or any.
    pub async fn has(&self, flow_id: Option<&str>) -> Result<bool, AuthError> {
        let key = match flow_id {
            Some(id) if !is_flow_id(id) => return Ok(false),
            Some(id) => self.slot(id),
            None => self.latest(),
        };
        Ok(self.store.get(&key).await?.is_some())
    }

    /// Removes all of them (S33).
    pub async fn clear(&self) -> Result<(), AuthError> {
        let _changing = self.changing.lock().await;
        for id in self.index().await? {
            self.store.remove(&self.slot(&id)).await?;
        }
        self.store.remove(&self.index_key()).await?;
        Ok(self.store.remove(&self.latest()).await?)
    }

    /// Removes a slot, its index entry, and the latest if it is the same verifier.
    async fn remove_flow(
        &self,
        flow_id: Option<&str>,
        text: Option<&str>,
    ) -> Result<(), AuthError> {
        if let Some(id) = flow_id {
            self.store.remove(&self.slot(id)).await?;
            let mut index = self.index().await?;
            index.retain(|known| known != id);
            self.write_index(&index).await?;
        }
        let latest = self.store.get(&self.latest()).await?;
        if latest.is_some() && latest.as_deref() == text {
            self.store.remove(&self.latest()).await?;
        }
        Ok(())
    }

    async fn index(&self) -> Result<Vec<String>, AuthError> {
        let text = self.store.get(&self.index_key()).await?;
        let ids = text.and_then(|text| serde_json::from_str::<Vec<String>>(&text).ok());
        let mut ids = ids.unwrap_or_default();
        // The store may hold foreign data, and an id becomes part of a key.
        ids.retain(|id| is_flow_id(id));
        ids.truncate(MAX_LISTED_FLOWS);
        Ok(ids)
    }

    async fn write_index(&self, ids: &[String]) -> Result<(), AuthError> {
        if ids.is_empty() {
            return Ok(self.store.remove(&self.index_key()).await?);
        }
        let text = serde_json::Value::from(ids).to_string();
        Ok(self.store.set(&self.index_key(), text).await?)
    }

    fn slot(&self, flow_id: &str) -> String {
        format!("{}-flow-{flow_id}-code-verifier", self.key)
    }

    fn index_key(&self) -> String {
        format!("{}-flows-code-verifier", self.key)
    }

    fn latest(&self) -> String {
        format!("{}-code-verifier", self.key)
    }
}

impl std::fmt::Debug for PendingFlows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PendingFlows")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// The code challenge of a verifier: its SHA-256 in base64url.
pub fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// Whether a text is a valid flow id.
pub fn is_flow_id(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (8..=64).contains(&text.len()) && text.bytes().all(is_allowed)
}

/// Adds `sb_flow_id` to a redirect URL (S54). Edited as text, because apps use custom schemes that URL libraries
/// would change.
pub fn with_flow_id(redirect_to: &str, flow_id: &str) -> String {
    let (rest, fragment) = match redirect_to.split_once('#') {
        Some((rest, fragment)) => (rest, Some(fragment)),
        None => (redirect_to, None),
    };
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let is_other = |pair: &&str| !pair.is_empty() && pair.split('=').next() != Some("sb_flow_id");
    let own = format!("sb_flow_id={flow_id}");
    let pairs: Vec<&str> = query
        .split('&')
        .filter(is_other)
        .chain([own.as_str()])
        .collect();
    let fragment = fragment
        .map(|fragment| format!("#{fragment}"))
        .unwrap_or_default();
    format!("{path}?{}{fragment}", pairs.join("&"))
}

fn random_hex(bytes: usize) -> Result<String, AuthError> {
    use std::fmt::Write as _;
    let mut random = Zeroizing::new(vec![0; bytes]);
    getrandom::fill(&mut random).map_err(|_| AuthError::InvalidInput("No randomness here"))?;
    let mut text = String::with_capacity(bytes * 2);
    for byte in random.iter() {
        _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    fn flows() -> (MemoryStore, PendingFlows) {
        let store = MemoryStore::new();
        (store.clone(), PendingFlows::new(Arc::new(store), "k"))
    }

    #[test]
    fn s51_the_challenge_is_the_hash_of_the_ascii_text() {
        let verifier = "0b30557a9fc4e90e33587da2c7ec11365b80a5caef14395e83a8cdf2173c6186abd0f51a3f6489aed3f81d42678cb1d6fb20456a8fb4d9fe";

        assert_eq!(
            challenge_of(verifier),
            "oaMHCDMhJbXvQsiCD7knXPF7I49iJEJxM73Kc1Ii5c4"
        );
    }

    #[tokio::test]
    async fn beginning_writes_slot_index_and_latest() {
        let (store, flows) = flows();

        let flow = flows.begin(RedirectType::SignIn).await.unwrap();

        let slot = format!("k-flow-{}-code-verifier", flow.id());
        let keys = [
            "k-code-verifier".to_owned(),
            slot.clone(),
            "k-flows-code-verifier".to_owned(),
        ];
        assert_eq!(store.keys(), keys);
        let stored = store.get(&slot).await.unwrap().unwrap();
        let verifier: String = serde_json::from_str(&stored).unwrap();
        assert_eq!(verifier.len(), 112);
        assert!(
            verifier
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        );
        assert_eq!(flow.challenge(), challenge_of(&verifier));
        assert_eq!(flow.id().len(), 32);
        let index = store.get("k-flows-code-verifier").await.unwrap();
        assert_eq!(index.unwrap(), format!("[\"{}\"]", flow.id()));
    }

    #[tokio::test]
    async fn k10_at_most_five_wait_and_the_oldest_goes() {
        assert_eq!(MAX_PENDING_FLOWS, 5);
        let (store, flows) = flows();
        let mut begun = Vec::new();
        for _ in 0..7 {
            begun.push(flows.begin(RedirectType::SignIn).await.unwrap());
        }

        assert_eq!(store.keys().len(), 5 + 2);
        for flow in &begun[..2] {
            assert!(!flows.has(Some(flow.id())).await.unwrap());
        }
        for flow in &begun[2..] {
            assert!(flows.has(Some(flow.id())).await.unwrap());
        }
    }

    #[tokio::test]
    async fn a_secret_is_taken_once_and_only_from_its_slot() {
        let (store, flows) = flows();
        let first = flows.begin(RedirectType::SignIn).await.unwrap();
        let second = flows.begin(RedirectType::Recovery).await.unwrap();

        let taken = flows.take(Some(first.id())).await.unwrap();
        assert_eq!(challenge_of(&taken.verifier), first.challenge());
        assert_eq!(taken.redirect_type, RedirectType::SignIn);
        let again = flows.take(Some(first.id())).await;
        assert!(matches!(again, Err(AuthError::VerifierMissing)));
        // The latest was the second's, and is still there.
        let latest = flows.take(None).await.unwrap();
        assert_eq!(challenge_of(&latest.verifier), second.challenge());
        assert_eq!(latest.redirect_type, RedirectType::Recovery);
        assert!(matches!(
            flows.take(None).await,
            Err(AuthError::VerifierMissing)
        ));

        flows.clear().await.unwrap();
        assert!(store.keys().is_empty());
    }

    #[tokio::test]
    async fn taking_by_id_clears_everything_of_that_sign_in() {
        let (store, flows) = flows();
        let flow = flows.begin(RedirectType::SignIn).await.unwrap();

        flows.take(Some(flow.id())).await.unwrap();

        assert!(store.keys().is_empty());
    }

    #[tokio::test]
    async fn an_abandoned_sign_in_leaves_nothing() {
        let (store, flows) = flows();
        let flow = flows.begin(RedirectType::SignIn).await.unwrap();

        flows.abandon(&flow).await.unwrap();

        assert!(store.keys().is_empty());
    }

    #[tokio::test]
    async fn malformed_ids_are_rejected_and_foreign_ones_ignored() {
        let (store, flows) = flows();
        for id in ["", "short", "has space!", &"x".repeat(65), "../../etc"] {
            let taken = flows.take(Some(id)).await;
            assert!(matches!(taken, Err(AuthError::InvalidInput(_))), "{id}");
        }
        store
            .set(
                "k-flows-code-verifier",
                r#"["../x","good_id-1"]"#.to_owned(),
            )
            .await
            .unwrap();

        assert_eq!(flows.index().await.unwrap(), ["good_id-1"]);
    }

    #[test]
    fn s54_the_flow_id_joins_the_query() {
        let check = |url: &str, expected: &str| assert_eq!(with_flow_id(url, "abcdefgh"), expected);

        check("https://a.test/cb", "https://a.test/cb?sb_flow_id=abcdefgh");
        check(
            "https://a.test/cb?x=1#top",
            "https://a.test/cb?x=1&sb_flow_id=abcdefgh#top",
        );
        check(
            "https://a.test/cb?sb_flow_id=old&x=1",
            "https://a.test/cb?x=1&sb_flow_id=abcdefgh",
        );
        check("my.app:/cb", "my.app:/cb?sb_flow_id=abcdefgh");
    }
}
