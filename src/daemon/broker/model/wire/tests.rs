use super::*;
use murmur_core::config::settings::Secret;

fn access(provider: Provider) -> Access {
    let url = url(provider, None).unwrap();
    Access { provider, model: "m".to_owned(), url, key: Secret::new("sk-1".to_owned()) }
}

#[test]
fn a_base_url_is_accepted_in_each_providers_form() {
    let (anthropic, openai) = (Provider::Anthropic, Provider::Openai);
    for (provider, base, expected) in [
        (anthropic, None, "https://api.anthropic.com/v1/messages"),
        (openai, None, "https://api.openai.com/v1/chat/completions"),
        (anthropic, Some("http://127.0.0.1:8/"), "http://127.0.0.1:8/v1/messages"),
        (anthropic, Some("https://h/proxy/v1/"), "https://h/proxy/v1/messages"),
        (openai, Some("http://127.0.0.1:8"), "http://127.0.0.1:8/v1/chat/completions"),
        (openai, Some("https://h/v1"), "https://h/v1/chat/completions"),
        (openai, Some("https://h/v1beta/openai/"), "https://h/v1beta/openai/chat/completions"),
    ] {
        assert_eq!(url(provider, base).as_deref(), Ok(expected));
    }
    for base in ["http://127.1.2.3", "http://[::1]:8", "http://localhost:8", "http://LOCALHOST"] {
        assert!(url(openai, Some(base)).is_ok(), "{base}");
    }
    for base in [
        "http://h",
        "http://10.0.0.1",
        "http://localhost.evil.com",
        "http://127.0.0.1.evil.com",
        "http://[::2]",
    ] {
        assert_eq!(url(openai, Some(base)), Err(WireError::Plain), "{base}");
        assert_eq!(url(anthropic, Some(base)), Err(WireError::Plain), "{base}");
    }
    for base in [
        "",
        "h",
        "/v1",
        "h:80",
        "file:///etc",
        "https://",
        "https://u:p@h",
        "https://h?a=1",
        "https://h#x",
        "https://h\r\nx: y",
    ] {
        assert_eq!(url(openai, Some(base)), Err(WireError::Address), "{base:?}");
        assert_eq!(url(anthropic, Some(base)), Err(WireError::Address), "{base:?}");
    }
}

fn header(name: &'static str, value: &str, is_secret: bool) -> Header {
    Header { name, value: value.to_owned(), is_secret }
}

#[test]
fn each_provider_gets_its_own_format() {
    let call = call(&access(Provider::Anthropic), "the call");
    assert_eq!(
        call.headers,
        [header("x-api-key", "sk-1", true), header("anthropic-version", "2023-06-01", false)]
    );
    assert_eq!(
        serde_json::from_slice::<Value>(&call.body).unwrap(),
        json!({
            "model": "m",
            "max_tokens": 1024,
            "system": SYSTEM,
            "messages": [{ "role": "user", "content": "the call" }],
        })
    );
    let call = super::call(&access(Provider::Openai), "the call");
    assert_eq!(call.headers, [header("authorization", "Bearer sk-1", true)]);
    assert_eq!(
        serde_json::from_slice::<Value>(&call.body).unwrap(),
        json!({
            "model": "m",
            "messages": [
                { "role": "system", "content": SYSTEM },
                { "role": "user", "content": "the call" },
            ],
        })
    );
}

#[test]
fn only_a_complete_answer_has_text() {
    let of = |provider: Provider, body: &Value| text(provider, body.to_string().as_bytes());
    let anthropic = |stop: Value, content: Value| {
        of(
            Provider::Anthropic,
            &json!({ "id": "x", "role": "assistant", "stop_reason": stop, "content": content }),
        )
    };
    let words = json!({ "type": "text", "text": "yes" });
    assert_eq!(anthropic(json!("end_turn"), json!([words])).as_deref(), Ok("yes"));
    assert_eq!(
        anthropic(json!("end_turn"), json!([{ "type": "thinking", "thinking": "h" }, words])).as_deref(),
        Ok("yes")
    );
    let foreign = Err(WireError::Foreign("Anthropic's Messages API"));
    assert_eq!(anthropic(json!("end_turn"), json!([])), foreign);
    assert_eq!(anthropic(json!("end_turn"), json!([words, words])), foreign);
    assert_eq!(anthropic(json!("end_turn"), json!([{ "type": "tool_use", "text": "yes" }])), foreign);
    assert_eq!(anthropic(json!("end_turn"), json!("yes")), foreign);
    assert_eq!(
        anthropic(json!("max_tokens"), json!([words])),
        Err(WireError::Unfinished("max_tokens".to_owned()))
    );
    assert_eq!(anthropic(json!("refusal"), json!([words])), Err(WireError::Refused));
    assert_eq!(
        anthropic(json!(null), json!([words])),
        Err(WireError::Unfinished("unknown reason".to_owned()))
    );

    for role in [json!("user"), json!(null)] {
        let body = json!({ "role": role, "stop_reason": "end_turn", "content": [words] });
        assert_eq!(of(Provider::Anthropic, &body), foreign, "the model said none of it");
    }

    let openai = |finish: Value, mut message: Value| {
        message["role"] = "assistant".into();
        of(Provider::Openai, &json!({ "choices": [{ "finish_reason": finish, "message": message }] }))
    };
    assert_eq!(openai(json!("stop"), json!({ "content": "yes", "refusal": null })).as_deref(), Ok("yes"));
    let foreign = Err(WireError::Foreign("OpenAI's Chat Completions API"));
    assert_eq!(openai(json!("stop"), json!({ "content": null })), foreign);
    assert_eq!(openai(json!("stop"), json!({ "content": "yes", "tool_calls": [{}] })), foreign);
    assert_eq!(openai(json!("stop"), json!({ "content": "yes", "refusal": "no" })), Err(WireError::Refused));
    assert_eq!(openai(json!("content_filter"), json!({ "content": "yes" })), Err(WireError::Refused));
    assert_eq!(
        openai(json!("length"), json!({ "content": "yes" })),
        Err(WireError::Unfinished("length".to_owned()))
    );
    let choice = json!({ "finish_reason": "stop", "message": { "role": "assistant", "content": "yes" } });
    for role in [json!("user"), json!(null)] {
        let choice = json!({ "finish_reason": "stop", "message": { "role": role, "content": "yes" } });
        assert_eq!(of(Provider::Openai, &json!({ "choices": [choice] })), foreign);
    }
    for body in [json!({ "choices": [] }), json!({ "choices": [choice, choice] }), json!({}), json!([choice])]
    {
        assert_eq!(of(Provider::Openai, &body), foreign);
    }
    for body in ["", "<html>", "{\"content\":[]"] {
        assert!(text(Provider::Anthropic, body.as_bytes()).is_err());
        assert!(text(Provider::Openai, body.as_bytes()).is_err());
    }
}
