//! Everything a team said, with indexes for the questions that are asked of it.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use uuid::Uuid;

use crate::message::{EventMessage, Message, SentMessage};
use crate::wire::WireType as _;

/// The messages of a team in order, found by type, sender and event type without a scan.
#[derive(Debug, Default)]
pub struct History {
    messages: VecDeque<Arc<Message>>,
    first: u64,
    capacity: Option<usize>,
    by_type: HashMap<&'static str, VecDeque<u64>>,
    by_sender: HashMap<Uuid, VecDeque<u64>>,
    by_event: HashMap<&'static str, VecDeque<u64>>,
}

/// Which messages to give back; an empty filter gives all.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// Messages of this sender.
    pub sender: Option<Uuid>,
    /// Messages of this type or derived from it, by wire path.
    pub message_type: Option<&'static str>,
    /// Events whose payload has this type: a wire path, or `str`, `int`, `float`, `bool`, `list`,
    /// `dict`, `None` for plain values.
    pub event_type: Option<&'static str>,
}

impl History {
    /// A history that keeps the newest `capacity` messages, or all.
    pub fn new(capacity: Option<usize>) -> Self {
        Self { capacity, ..Self::default() }
    }

    /// Adds a message.
    pub fn push(&mut self, message: Arc<Message>) {
        let at = self.first + self.messages.len() as u64;
        for kind in message.type_chain() {
            self.by_type.entry(kind).or_default().push_back(at);
        }
        if let Some(sender) = &message.sender {
            self.by_sender.entry(sender.agent_id()).or_default().push_back(at);
        }
        if let Some(event) = message.body::<EventMessage>() {
            self.by_event.entry(event.event.type_name()).or_default().push_back(at);
        }
        self.messages.push_back(message);
        if self.capacity.is_some_and(|capacity| self.messages.len() > capacity) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.messages.pop_front() else { return };
        let at = self.first;
        self.first += 1;
        for kind in oldest.type_chain() {
            forget(&mut self.by_type, &kind, at);
        }
        if let Some(sender) = &oldest.sender {
            forget(&mut self.by_sender, &sender.agent_id(), at);
        }
        if let Some(event) = oldest.body::<EventMessage>() {
            forget(&mut self.by_event, &event.event.type_name(), at);
        }
    }

    /// How many messages are kept.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The messages that pass `filter`, in order.
    pub fn select(&self, filter: &HistoryFilter) -> Vec<Arc<Message>> {
        let HistoryFilter { sender, message_type, event_type } = filter;
        let indexes = [
            sender.map(|sender| self.by_sender.get(&sender)),
            message_type.map(|kind| self.by_type.get(kind)),
            event_type.map(|kind| self.by_event.get(kind)),
        ];
        let mut wanted: Vec<&VecDeque<u64>> = Vec::with_capacity(indexes.len());
        for index in indexes.into_iter().flatten() {
            let Some(index) = index else { return Vec::new() };
            wanted.push(index);
        }
        wanted.sort_by_key(|index| index.len());
        let Some((shortest, others)) = wanted.split_first() else {
            return self.messages.iter().cloned().collect();
        };
        shortest
            .iter()
            .filter(|at| others.iter().all(|other| other.binary_search(at).is_ok()))
            .filter_map(|at| {
                let place = usize::try_from(at.checked_sub(self.first)?).ok()?;
                self.messages.get(place).cloned()
            })
            .collect()
    }

    /// The messages that led to the one with this id, itself first: each was being handled when the
    /// one before it was sent. At most `most`, and no further back than was kept.
    pub fn line(&self, id: Uuid, most: usize) -> Vec<Arc<Message>> {
        let mut line = Vec::new();
        let mut wanted = Some(id);
        // What led to a message was sent before it, so one look backwards finds them all.
        let sent = self.by_type.get(SentMessage::PATH).into_iter().flatten().rev();
        for at in sent {
            if wanted.is_none() || line.len() >= most {
                break;
            }
            let place = at.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
            let record = place.and_then(|place| self.messages.get(place));
            let Some(sent) = record.and_then(|record| record.body::<SentMessage>()) else {
                continue;
            };
            if Some(sent.message.id) == wanted {
                wanted = sent.message.parent_id;
                line.push(Arc::clone(&sent.message));
            }
        }
        line
    }
}

/// Takes the oldest number out of an index.
fn forget<K: Eq + Hash>(index: &mut HashMap<K, VecDeque<u64>>, key: &K, at: u64) {
    let Some(numbers) = index.get_mut(key) else { return };
    if numbers.front() == Some(&at) {
        numbers.pop_front();
    }
    if numbers.is_empty() {
        index.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{ActorAddress, AddressInfo};
    use crate::message::{ReceivedMessage, UserMessage};

    #[test]
    fn a_capped_history_keeps_the_newest_and_nothing_of_the_rest() {
        let mut history = History::new(Some(3));
        for number in 0..10 {
            let message: Message = if number % 2 == 0 {
                UserMessage { content: number.to_string() }.into()
            } else {
                ReceivedMessage { message_id: Uuid::nil() }.into()
            };
            history.push(Arc::new(message));
        }
        assert_eq!(history.len(), 3);
        let users =
            HistoryFilter { message_type: Some(UserMessage::PATH), ..HistoryFilter::default() };
        let texts: Vec<_> = history
            .select(&users)
            .iter()
            .filter_map(|message| Some(message.body::<UserMessage>()?.content.clone()))
            .collect();
        assert_eq!(texts, ["8"]);
        let indexed: usize = history.by_type.values().map(VecDeque::len).sum();
        assert_eq!(indexed, 6, "own type and base type of three messages");
    }
    #[test]
    fn a_line_goes_back_to_the_first_message() {
        let mut history = History::default();
        let sent = |id: u128, parent: Option<u128>| {
            let mut message = Message::new(UserMessage { content: id.to_string() });
            message.id = Uuid::from_u128(id);
            message.parent_id = parent.map(Uuid::from_u128);
            let recipient = ActorAddress::stopped(AddressInfo {
                agent_id: Uuid::nil(),
                name: "@b".to_owned(),
                role: "B".to_owned(),
                team_id: Uuid::nil(),
                squad_id: None,
                is_user_proxy: false,
                actor_type: String::new(),
                extra: serde_json::Map::new(),
            });
            Arc::new(Message::new(SentMessage { message: Arc::new(message), recipient }))
        };
        for (id, parent) in [(1, None), (2, Some(1)), (9, None), (3, Some(2)), (8, Some(9))] {
            history.push(sent(id, parent));
        }
        let line = |id, most| -> Vec<u128> {
            history.line(Uuid::from_u128(id), most).iter().map(|one| one.id.as_u128()).collect()
        };
        assert_eq!(line(3, 10), [3, 2, 1]);
        assert_eq!(line(3, 2), [3, 2]);
        assert_eq!(line(9, 10), [9]);
        assert!(line(7, 10).is_empty(), "nobody knows it");
        assert!(line(3, 0).is_empty());
    }
}
