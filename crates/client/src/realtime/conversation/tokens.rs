//! Whose token is used (realtime contract §8.1).

use serde_json::json;

use super::{Conversation, Link, Order, Token};
use crate::auth::AuthError;
use crate::realtime::frame::{Body, Outgoing};

impl Conversation {
    /// Whose token is to be used from now on.
    pub(in crate::realtime) fn token(&mut self, now: i64, token: Result<String, AuthError>) {
        if self.is_token_fixed {
            return;
        }
        self.awaits_token = false;
        match token {
            Ok(token) => self.use_token(token),
            // A token that was good stays in use.
            Err(error) if !matches!(self.token, Token::Known(_)) => {
                self.token = Token::Failed(error);
            }
            Err(_) => {}
        }
        self.join_waiting(now);
    }

    /// A token of the caller's, or none: then the session's counts again.
    pub(in crate::realtime) fn fix_token(&mut self, now: i64, token: Option<String>) {
        self.is_token_fixed = token.is_some();
        match token {
            Some(token) => {
                self.awaits_token = false;
                self.use_token(token);
                self.join_waiting(now);
            }
            None => self.ask_token(),
        }
    }

    pub(super) fn ask_token(&mut self) {
        if !self.is_token_fixed {
            self.orders.push_back(Order::AskToken);
        }
    }

    pub(super) fn use_token(&mut self, token: String) {
        let is_new = !matches!(&self.token, Token::Known(known) if *known == token);
        if !is_new {
            return;
        }
        self.token = Token::Known(token.clone());
        if self.link != Link::Open {
            return;
        }
        let joined = self.rooms.values().filter(|room| room.is_joined());
        let joined: Vec<(Option<String>, String)> = joined
            .map(|room| (room.join_ref().map(str::to_owned), room.topic().to_owned()))
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
