//! Access tokens (realtime contract §8.1).

use serde_json::json;

use super::{Action, LinkState, Protocol, Token};
use crate::auth::AuthError;
use crate::realtime::frame::{Body, Outgoing};

impl Protocol {
    /// The result of [`Action::FetchToken`].
    pub(in crate::realtime) fn token_received(
        &mut self,
        now: i64,
        token: Result<String, AuthError>,
    ) {
        if self.has_custom_token {
            return;
        }
        self.is_waiting_for_token = false;
        match token {
            Ok(token) => self.use_token(token),
            // An earlier valid token stays in use.
            Err(error) if !matches!(self.token, Token::Known(_)) => {
                self.token = Token::Failed(error);
            }
            Err(_) => {}
        }
        self.join_pending(now);
    }

    /// Sets a token, or with `None` returns to the session's.
    pub(in crate::realtime) fn set_token(&mut self, now: i64, token: Option<String>) {
        self.has_custom_token = token.is_some();
        match token {
            Some(token) => {
                self.is_waiting_for_token = false;
                self.use_token(token);
                self.join_pending(now);
            }
            None => self.request_token(),
        }
    }

    pub(super) fn request_token(&mut self) {
        if !self.has_custom_token {
            self.actions.push_back(Action::FetchToken);
        }
    }

    pub(super) fn use_token(&mut self, token: String) {
        let is_new = !matches!(&self.token, Token::Known(known) if *known == token);
        if !is_new {
            return;
        }
        self.token = Token::Known(token.clone());
        if self.link != LinkState::Open {
            return;
        }
        let joined = self.channels.values().filter(|channel| channel.is_joined());
        let joined: Vec<(Option<String>, String)> = joined
            .map(|channel| {
                (
                    channel.join_ref().map(str::to_owned),
                    channel.topic().to_owned(),
                )
            })
            .collect();
        for (join_ref, topic) in joined {
            let reference = self.next_ref();
            self.send(Outgoing {
                join_ref,
                reference,
                topic,
                event: "access_token",
                payload: Body::Json(json!({ "access_token": token })),
            });
        }
    }
}
