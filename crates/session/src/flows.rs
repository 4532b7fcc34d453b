//! Forgetting sign-ins under way (C22). Beginning and completing them is the SDK's
//! ([`PendingFlows`](plinth_client::auth::PendingFlows)), over the same cookies.

use plinth_client::auth::is_flow_id;

use crate::jar::Jar;

/// Forgets the session and every sign-in under way, in the order in which the reference does.
pub(crate) fn forget_everything(jar: &mut Jar, key: &str) {
    let index = format!("{key}-flows-code-verifier");
    let flows = jar
        .item(&index)
        .and_then(|text| serde_json::from_str::<Vec<String>>(&text).ok());
    for flow in flows
        .unwrap_or_default()
        .iter()
        .filter(|flow| is_flow_id(flow))
    {
        jar.remove(format!("{key}-flow-{flow}-code-verifier"));
    }
    jar.remove(index);
    jar.remove(key);
    jar.remove(format!("{key}-code-verifier"));
}
