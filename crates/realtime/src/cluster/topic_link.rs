//! One topic on other nodes.

use std::sync::{Arc, Weak};

use async_nats::Subject;
use tokio_util::task::AbortOnDropHandle;

use super::{Cluster, ClusterLink, NodeMessage};
use crate::topics::{RemoteTopic, Topic, TopicMessage};

/// The subject of a topic, to which this node is subscribed as long as this lives.
#[derive(Debug)]
pub(super) struct TopicLink {
    cluster: Cluster,
    link: Weak<ClusterLink>,
    subject: Subject,
    name: Arc<str>,
    is_private: bool,
    _task: Option<AbortOnDropHandle<()>>,
}

impl TopicLink {
    /// Everything that is published after this returns is received, unless the broker is away.
    pub(super) async fn open(
        link: &Weak<ClusterLink>,
        cluster: Cluster,
        subject: Subject,
        topic: &Arc<Topic>,
    ) -> Self {
        let messages = cluster.subscribe(&subject).await;
        let task = messages.map(|mut messages| {
            let (topic, link) = (Arc::downgrade(topic), link.clone());
            AbortOnDropHandle::new(tokio::spawn(async move {
                while let Some(envelope) = messages.next().await {
                    let (Some(topic), Some(link)) = (topic.upgrade(), link.upgrade()) else {
                        return;
                    };
                    if let NodeMessage::Topic(message) = envelope.message {
                        link.apply(&topic, envelope.from, message);
                    }
                }
            }))
        });
        Self {
            cluster,
            link: link.clone(),
            subject,
            name: topic.name.clone(),
            is_private: topic.is_private,
            _task: task,
        }
    }
}

impl RemoteTopic for TopicLink {
    fn publish(&self, message: TopicMessage) {
        self.cluster.publish(&self.subject, message.into());
    }

    fn mark_presence_changed(&self) {
        if let Some(link) = self.link.upgrade() {
            link.mark_presence_changed(&self.name, self.is_private);
        }
    }
}
