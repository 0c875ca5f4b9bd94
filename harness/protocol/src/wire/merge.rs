//! Fragments put together: what a reader of the stream ends up with.

use super::chunk::{Chunk, Delta, ToolCall, Usage};

impl Delta {
    /// Takes in the fragment that came directly behind this one: text is joined and log probabilities are appended;
    /// everything else stays this one's.
    pub fn push(&mut self, next: Delta) {
        self.content.text.push_str(&next.content.text);
        if let Some(more) = next.logprobs {
            self.logprobs.get_or_insert_default().extend(more);
        }
    }
}

impl ToolCall {
    /// Takes in the next fragment of the same call: arguments are joined; everything else stays this one's.
    pub fn push(&mut self, next: ToolCall) {
        if let Some(more) = next.arguments {
            self.arguments.get_or_insert_default().push_str(&more);
        }
    }
}

impl Usage {
    /// Adds what another chunk counted; counts stop at their ends instead of overflowing.
    pub fn add(&mut self, next: &Usage) {
        self.completion_tokens = self
            .completion_tokens
            .saturating_add(next.completion_tokens);
        self.prompt_tokens = self.prompt_tokens.saturating_add(next.prompt_tokens);
        self.total_tokens = self.total_tokens.saturating_add(next.total_tokens);
    }
}

impl Chunk {
    /// Takes in the chunk that came directly behind this one, if the two are fragments of one thing: text, reasoning or
    /// a refusal of one thread, or one tool call.
    ///
    /// # Errors
    /// Gives back a chunk that starts something else.
    pub fn push(&mut self, next: Chunk) -> Result<(), Box<Chunk>> {
        match (self, next) {
            (Chunk::AssistantReasoning(this), Chunk::AssistantReasoning(next))
            | (Chunk::AssistantTextContent(this), Chunk::AssistantTextContent(next))
            | (Chunk::AssistantRefusal(this), Chunk::AssistantRefusal(next))
                if this.parent_tool_call_id == next.parent_tool_call_id =>
            {
                this.push(next);
                Ok(())
            }
            (Chunk::AssistantToolCall(this), Chunk::AssistantToolCall(next))
                if this.id == next.id =>
            {
                this.push(next);
                Ok(())
            }
            (_, next) => Err(Box::new(next)),
        }
    }
}

/// A stream of chunks with each run of fragments put together; usage is left as it came.
pub fn merged(chunks: impl IntoIterator<Item = Chunk>) -> Vec<Chunk> {
    let mut whole: Vec<Chunk> = Vec::new();
    for chunk in chunks {
        let apart = match whole.last_mut() {
            Some(last) => last.push(chunk).err(),
            None => Some(Box::new(chunk)),
        };
        whole.extend(apart.map(|chunk| *chunk));
    }
    whole
}
