//! Rewrites tokens that bash accepts and brush-parser's grammar doesn't.
//!
//! `select` becomes `for`, and `for …; { …; }` becomes `for …; do …; done`. The semicolons in `for ((;;))` are
//! separated, a function body `[[ … ]]` gets braces, and `((` that doesn't start arithmetic gets a command between its
//! parentheses.

use brush_parser::{SourceSpan, Token};

/// Returns equivalent tokens that the grammar accepts.
pub(super) fn tokens(text: &str, tokens: Vec<Token>) -> Vec<Token> {
    let mut tokens = joined(text, tokens);
    let subshells = subshells(&tokens);
    let braces = braces(&tokens);
    let mut at_command = true;
    for (at, token) in tokens.iter_mut().enumerate() {
        let starts = std::mem::replace(&mut at_command, begins_command(token));
        let Token::Word(word, _) = token else { continue };
        if starts && word == "select" {
            "for".clone_into(word);
        } else if braces.contains(&(at, true)) {
            "do".clone_into(word);
        } else if braces.contains(&(at, false)) {
            "done".clone_into(word);
        }
    }
    let apart = |at: usize, tokens: &[Token]| {
        is(&tokens[at], ";;")
            && at > 2
            && is(&tokens[at - 1], "(")
            && is(&tokens[at - 2], "(")
            && is_word(&tokens[at - 3], "for")
    };
    let has_apart = tokens.iter().enumerate().any(|(at, token)| is(token, ";;") && apart(at, &tokens));
    let is_body = |at: usize, tokens: &[Token]| {
        at > 1 && is_word(&tokens[at], "[[") && is(&tokens[at - 1], ")") && is(&tokens[at - 2], "(")
    };
    let has_body = (0..tokens.len()).any(|at| is_body(at, &tokens));
    if subshells.is_empty() && !has_apart && !has_body {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 2 * subshells.len());
    let (mut next, mut in_body) = (subshells.into_iter().peekable(), false);
    for (at, token) in tokens.iter().enumerate() {
        let span = token.location().clone();
        if apart(at, &tokens) {
            out.extend([
                Token::Operator(";".to_owned(), span.clone()),
                Token::Operator(";".to_owned(), span),
            ]);
            continue;
        }
        if is_body(at, &tokens) {
            out.push(Token::Word("{".to_owned(), span.clone()));
            in_body = true;
        }
        out.push(token.clone());
        if in_body && is_word(token, "]]") {
            in_body = false;
            out.extend([
                Token::Operator(";".to_owned(), span.clone()),
                Token::Word("}".to_owned(), span.clone()),
            ]);
        }
        if next.next_if_eq(&at).is_some() {
            out.extend([Token::Word(":".to_owned(), span.clone()), Token::Operator(";".to_owned(), span)]);
        }
    }
    out
}

/// Joins words that contain a process substitution, such as `a=<(b)`, which the tokenizer splits.
fn joined(text: &str, tokens: Vec<Token>) -> Vec<Token> {
    let begins = |at: usize| match &tokens[at..] {
        [Token::Word(word, first), Token::Operator(operator, second), Token::Operator(open, third), ..] => {
            (operator == "<" || operator == ">")
                && open == "("
                && touches(first, second)
                && touches(second, third)
                && !word.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    };
    if !(0..tokens.len()).any(begins) {
        return tokens;
    }
    let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let start = at;
        if begins(at) {
            let mut depth = 0_usize;
            for (place, token) in tokens.iter().enumerate().skip(at + 2) {
                if is(token, "(") {
                    depth += 1;
                } else if is(token, ")") {
                    depth -= 1;
                    if depth == 0 {
                        at = place;
                        break;
                    }
                }
            }
        }
        let (first, last) = (tokens[start].location(), tokens[at].location());
        let range = offsets.get(first.start.index).zip(offsets.get(last.end.index));
        match range.and_then(|(from, to)| text.get(*from..*to)).filter(|_| at > start) {
            Some(word) => out.push(Token::Word(word.to_owned(), first.clone())),
            None => out.extend(tokens[start..=at].iter().cloned()),
        }
        at += 1;
    }
    out
}

fn is(token: &Token, operator: &str) -> bool {
    matches!(token, Token::Operator(text, _) if text == operator)
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(text, _) if text == word)
}

fn begins_command(token: &Token) -> bool {
    match token {
        Token::Operator(text, _) => !text.starts_with(['<', '>']),
        Token::Word(text, _) => {
            ["then", "do", "else", "elif", "if", "while", "until", "{", "!", "time"].contains(&text.as_str())
        }
    }
}

fn touches(left: &SourceSpan, right: &SourceSpan) -> bool {
    left.end.index == right.start.index
}

/// Indexes of the first of two opening parentheses that don't start arithmetic.
fn subshells(tokens: &[Token]) -> Vec<usize> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    let mut closes = vec![None; tokens.len()];
    for (at, token) in tokens.iter().enumerate() {
        if is(token, "(") {
            open.push(at);
        } else if is(token, ")")
            && let Some(start) = open.pop()
        {
            closes[start] = Some(at);
        }
    }
    for (at, pair) in tokens.windows(2).enumerate() {
        if !is(&pair[0], "(") || !is(&pair[1], "(") || at > 0 && is_word(&tokens[at - 1], "for") {
            continue;
        }
        let is_arithmetic = touches(pair[0].location(), pair[1].location())
            && match (closes[at], closes[at + 1]) {
                (Some(outer), Some(inner)) => {
                    outer == inner + 1 && touches(tokens[inner].location(), tokens[outer].location())
                }
                _ => false,
            };
        if !is_arithmetic {
            found.push(at);
        }
    }
    found
}

/// Indexes of braces around a loop body, true for the opening one.
fn braces(tokens: &[Token]) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let (mut is_loop, mut at_command) = (false, true);
    for (at, token) in tokens.iter().enumerate() {
        let starts = std::mem::replace(&mut at_command, begins_command(token));
        match token {
            Token::Word(word, _) if starts && (word == "for" || word == "select") => is_loop = true,
            Token::Word(word, _) if starts && word == "do" => is_loop = false,
            Token::Word(word, _) if starts && word == "{" => {
                open.push(is_loop.then_some(at));
                is_loop = false;
            }
            Token::Word(word, _) if starts && word == "}" => {
                if let Some(Some(start)) = open.pop() {
                    found.extend([(start, true), (at, false)]);
                }
            }
            _ => {}
        }
    }
    // Bounds the time of the search below.
    found.truncate(64);
    found
}
