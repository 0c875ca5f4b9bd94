//! The chunk as serde's derives alone read it: an untagged enum, each kind's tag an enum of one, MCP's members
//! flattened in.

use rmcp::model::{
    AudioContent, CallToolResult, EmbeddedResource, ImageContent, MetaObject, RequestMetaObject,
    Resource, TextContent,
};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

macro_rules! tags {
    ($($tag:ident = $name:literal),+ $(,)?) => {$(
        #[derive(Serialize, Deserialize)]
        pub enum $tag {
            #[serde(rename = $name)]
            Tag,
        }
    )+};
}

tags! {
    Reasoning = "assistant_reasoning",
    Text = "assistant_text_content",
    Image = "assistant_image_content",
    Audio = "assistant_audio_content",
    Call = "assistant_tool_call",
    Refusal = "assistant_refusal",
    Response = "tool_response",
    UserText = "user_text_content",
    UserImage = "user_image_content",
    UserAudio = "user_audio_content",
    UserResource = "user_resource",
    UserLink = "user_resource_link",
    Usage = "usage",
    Notification = "notification",
}

#[derive(Serialize, Deserialize)]
pub struct Logprob {
    pub token: String,
    pub bytes: Option<Vec<u8>>,
    pub logprob: Decimal,
    pub top_logprobs: Vec<TopLogprob>,
}

#[derive(Serialize, Deserialize)]
pub struct TopLogprob {
    pub token: String,
    pub bytes: Option<Vec<u8>>,
    pub logprob: Option<Decimal>,
}

#[derive(Serialize, Deserialize)]
pub struct Delta<T> {
    pub r#type: T,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Vec<Logprob>>,
    #[serde(flatten)]
    pub content: TextContent,
}

#[derive(Serialize, Deserialize)]
pub struct Medium<T, C> {
    pub r#type: T,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    #[serde(flatten)]
    pub content: C,
}

#[derive(Serialize, Deserialize)]
pub struct ToolCall {
    pub r#type: Call,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    pub id: String,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMetaObject>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub struct ToolResponse {
    pub r#type: Response,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    pub id: String,
    #[serde(flatten)]
    pub result: CallToolResult,
}

#[derive(Serialize, Deserialize)]
pub struct Part<T, C> {
    pub r#type: T,
    pub key: String,
    #[serde(flatten)]
    pub content: C,
}

#[derive(Serialize, Deserialize)]
pub struct Used {
    pub r#type: Usage,
    pub completion_tokens: u64,
    pub prompt_tokens: u64,
    pub total_tokens: u64,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

#[derive(Serialize, Deserialize)]
pub struct Notified {
    pub r#type: Notification,
    pub is_fatal: bool,
    pub message: serde_json::Value,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub enum Chunk {
    AssistantReasoning(Delta<Reasoning>),
    AssistantTextContent(Delta<Text>),
    AssistantImageContent(Medium<Image, ImageContent>),
    AssistantAudioContent(Medium<Audio, AudioContent>),
    AssistantToolCall(ToolCall),
    AssistantRefusal(Delta<Refusal>),
    ToolResponse(ToolResponse),
    UserTextContent(Part<UserText, TextContent>),
    UserImageContent(Part<UserImage, ImageContent>),
    UserAudioContent(Part<UserAudio, AudioContent>),
    UserResource(Part<UserResource, EmbeddedResource>),
    UserResourceLink(Part<UserLink, Resource>),
    Usage(Used),
    Notification(Notified),
}
