//! A provider of text messages that keeps what it is given.

use super::Remote;

/// What it calls every message.
pub(crate) const MESSAGE_ID: &str = "SM1";

/// A stand-in for Twilio; it ends with the test.
pub(crate) struct TextServer(Remote);

impl TextServer {
    pub(crate) async fn start() -> Self {
        let answer = format!(r#"{{"sid":"{MESSAGE_ID}","status":"queued"}}"#);
        Self(Remote::start(201, &answer).await)
    }

    /// Settings that let people use numbers and send messages here: each is its code alone.
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

    /// To whom messages went, and what they said; oldest first.
    pub(crate) fn sent(&self) -> Vec<(String, String)> {
        let messages = self.0.asked().into_iter().map(|asked| asked.form());
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

    /// The code of the newest message, which went to this number.
    #[track_caller]
    pub(crate) fn code_to(&self, phone: &str) -> String {
        let (to, code) = self.sent().pop().expect("a message");
        assert_eq!(to, format!("+{phone}"));
        code
    }
}
