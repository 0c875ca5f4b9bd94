//! Connections by their names, which tasks of their own read and write.

use std::collections::HashMap;
use std::hash::Hash;

use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};

use crate::{Connection, Message, Receiver, Sender};

/// What a peer does on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// It sends a binary message.
    Binary(Bytes),
    /// It sends a text message.
    Text(String),
    /// It ends the connection with a close frame; the last thing.
    Closed,
    /// Its connection breaks, without a close frame; the last thing.
    Lost,
}

/// What a writer is told.
enum Order {
    Binary(Bytes),
    Text(String),
    Flood(Bytes),
    Close,
}

/// The way to the writer of a connection, and its reader.
#[derive(Debug)]
struct Line {
    orders: UnboundedSender<Order>,
    reader: AbortHandle,
}

/// Open connections. What one is told that is gone is lost.
#[derive(Debug)]
pub struct Lines<K>(HashMap<K, Line>);

impl<K> Default for Lines<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Lines<K> {
    /// Starts the reader and the writer of a connection among these tasks, and tells `hear` what is read.
    pub fn open(
        &mut self,
        name: K,
        connection: Connection,
        tasks: &mut JoinSet<()>,
        hear: impl Fn(Heard) + Send + 'static,
    ) {
        let (sender, receiver) = connection.split();
        let (orders, mailbox) = unbounded_channel();
        tasks.spawn(write_all(sender, mailbox));
        let reader = tasks.spawn(read_all(receiver, hear));
        self.0.insert(name, Line { orders, reader });
    }

    /// Sends a binary message.
    pub fn send(&self, name: &K, bytes: Bytes) {
        self.order(name, Order::Binary(bytes));
    }

    /// Sends a text message.
    pub fn send_text(&self, name: &K, text: String) {
        self.order(name, Order::Text(text));
    }

    /// Sends this binary message again and again, for as long as the peer takes it.
    pub fn flood(&self, name: &K, bytes: Bytes) {
        self.order(name, Order::Flood(bytes));
    }

    /// Ends a connection with a close frame; what the peer still says is heard.
    pub fn close(&mut self, name: &K) {
        self.order(name, Order::Close);
        self.forget(name);
    }

    /// Ends a connection without a close frame; nothing more is heard.
    pub fn hang_up(&mut self, name: &K) {
        if let Some(line) = self.0.remove(name) {
            line.reader.abort();
        }
    }

    /// Writes nothing more; what the peer still says is heard.
    pub fn forget(&mut self, name: &K) {
        self.0.remove(name);
    }

    fn order(&self, name: &K, order: Order) {
        if let Some(line) = self.0.get(name) {
            // A writer that is gone has nobody to write to.
            let _ = line.orders.send(order);
        }
    }
}

async fn read_all(mut receiver: Receiver, hear: impl Fn(Heard)) {
    loop {
        let heard = match receiver.receive().await {
            Message::Binary(bytes) => Heard::Binary(bytes),
            Message::Text(text) => Heard::Text(text),
            Message::Closed if receiver.got_close_frame() => Heard::Closed,
            Message::Closed => Heard::Lost,
        };
        let last = matches!(heard, Heard::Closed | Heard::Lost);
        hear(heard);
        if last {
            return;
        }
    }
}

/// Writes until there is nothing more to write, or nobody to write it to.
async fn write_all(mut sender: Sender, mut orders: UnboundedReceiver<Order>) {
    while let Some(order) = orders.recv().await {
        let written = match order {
            Order::Binary(bytes) => sender.send(bytes).await,
            Order::Text(text) => sender.send_text(text).await,
            Order::Close => sender.close().await,
            Order::Flood(bytes) => loop {
                if let Err(gone) = sender.send(bytes.clone()).await {
                    break Err(gone);
                }
            },
        };
        if written.is_err() {
            return;
        }
    }
}
