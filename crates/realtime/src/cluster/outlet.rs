//! The way from one room to the same room on other nodes.

use std::sync::Weak;

use async_nats::Subject;
use tokio_util::task::AbortOnDropHandle;

use super::{Cluster, Link, Said};
use crate::rooms::Room;

/// Of one room; other nodes are heard as long as it lives.
#[derive(Debug)]
pub(crate) struct Outlet {
    cluster: Cluster,
    link: Weak<Link>,
    subject: Subject,
    _task: Option<AbortOnDropHandle<()>>,
}

impl Outlet {
    /// Everything that is said after this returns is heard, unless the broker is away.
    pub(super) async fn open(
        link: &Weak<Link>,
        cluster: Cluster,
        subject: Subject,
        room: Weak<Room>,
    ) -> Self {
        let listening = cluster.listen(&subject).await;
        let own = link.clone();
        let link = link.clone();
        let task = listening.map(|mut listening| {
            AbortOnDropHandle::new(tokio::spawn(async move {
                while let Some(envelope) = listening.next().await {
                    let (Some(room), Some(link)) = (room.upgrade(), link.upgrade()) else {
                        return;
                    };
                    let told = room.hear(&link, envelope);
                    link.count_told(&told);
                }
            }))
        });
        Self {
            cluster,
            link: own,
            subject,
            _task: task,
        }
    }

    /// Who is present has changed, which is told more than once.
    pub(crate) fn touch(&self, room: &Room) {
        if let Some(link) = self.link.upgrade() {
            link.touch(&room.topic, room.is_private);
        }
    }

    pub(crate) fn say(&self, said: Said) {
        self.cluster.say(&self.subject, said);
    }
}
