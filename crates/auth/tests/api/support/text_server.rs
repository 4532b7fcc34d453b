//! An SMS provider that stores messages.

use super::Remote;

/// The id of every message.
pub(crate) const MESSAGE_ID: &str = "SM1";

/// A fake Twilio; it ends with the test.
pub(crate) struct TextServer(Remote);

impl TextServer {
    pub(crate) async fn start() -> Self {
        let response = format!(r#"{{"sid":"{MESSAGE_ID}","status":"queued"}}"#);
        Self(Remote::start(201, &response).await)
    }

    /// Settings that enable phone sign-ins and send messages here; each message is only its code.
    pub(crate) fn settings<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let own = [
            ("auth.sms.enable_signup", "true"),
            ("auth.sms.template", "{{ .Code }}"),
            ("auth.sms.twilio.enabled", "true"),
            ("auth.sms.twilio.account_sid", "AC1"),
            ("auth.sms.twilio.auth_token", "token"),
            ("auth.sms.twilio.message_service_sid", "MG1"),
            ("plinth.auth.sms.base_url", self.0.url.as_str()),
        ];
        own.into_iter().chain(more.iter().copied()).collect()
    }

    /// Recipients and texts of messages, oldest first.
    pub(crate) fn sent(&self) -> Vec<(String, String)> {
        let messages = self
            .0
            .received()
            .into_iter()
            .map(|received| received.form());
        let field = |form: &[(String, String)], name: &str| {
            let found = form.iter().find(|(known, _)| known == name);
            found
                .unwrap_or_else(|| panic!("{name} in {form:?}"))
                .1
                .clone()
        };
        messages
            .map(|form| (field(&form, "To"), field(&form, "Body")))
            .collect()
    }

    /// The code of the newest message, sent to this number.
    #[track_caller]
    pub(crate) fn code_to(&self, phone: &str) -> String {
        let (to, code) = self.sent().pop().expect("a message");
        assert_eq!(to, format!("+{phone}"));
        code
    }
}
