//! Parses and evaluates the assertions between `%{` and `}%`.
//!
//! Packetdrill runs them in Python. Here they are a small language that can only read variables of the connection,
//! compute and compare: `assert`, assignments, `print` (which is skipped), numbers, strings, `+ - * / // % & |`,
//! comparisons (also chained), `and`, `or`, `not`, `abs`, `min`, `max`, `int`, `len`.

use std::collections::BTreeMap;

use crate::cursor::Cursor;
use crate::error::{Parsed, ScriptPlace, ScriptStop};

/// The greatest depth of nested expressions.
const MAX_DEPTH: u32 = 64;

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its source text.
    pub text: String,
    kind: StatementKind,
}

#[derive(Clone, Debug)]
enum StatementKind {
    Assert(ScriptExpression),
    /// Name, operator if the assignment is augmented, and the value.
    Assign(String, Option<&'static str>, ScriptExpression),
    Print,
}

#[derive(Clone, Debug)]
enum ScriptExpression {
    Number(f64),
    Text(String),
    Name(String),
    Tuple(Vec<Self>),
    Not(Box<Self>),
    Negate(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    /// Two numbers joined by one of [`BINARIES`].
    Binary(&'static str, Box<Self>, Box<Self>),
    /// A value, and others that it is compared with in turn, each behind one of [`COMPARISONS`].
    Compare(Box<Self>, Vec<(&'static str, Self)>),
    Apply(String, Vec<Self>),
}

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionValue {
    /// A number; truth values are 0 and 1.
    Number(f64),
    /// A string.
    Text(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Text(String),
    Word(String),
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 35] = [
    "==", "!=", "<<", ">>", "<=", ">=", "//", "+=", "-=", "**", "*=", ":=", "<", ">", "+", "-", "*", "/", "%", "(",
    ")", ",", "=", "[", "]", "{", "}", ":", ".", "&", "|", "!", "~", "^", "@",
];

/// Binary operators, those that bind least tightly first.
const BINARIES: [&[&str]; 3] = [&["&", "|"], &["+", "-"], &["*", "//", "/", "%"]];
const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];
/// Signs and words that continue an expression in Python, but not in this language.
const CONTINUATIONS: [&str; 15] =
    ["**", "<<", ">>", "^", "@", ":=", "[", "(", ".", "in", "not", "is", "if", "for", "async"];

/// Signs and words that begin an expression in Python, but not in this language.
const BEGINNINGS: [&str; 6] = ["~", "[", "{", "lambda", "await", "yield"];

/// Words that cannot be names.
const RESERVED: [&str; 14] =
    ["and", "or", "not", "in", "is", "if", "else", "for", "async", "lambda", "await", "yield", "assert", "import"];

/// Parses code that begins at `place`. The inner error names a construct that is not supported.
///
/// # Errors
/// If the code is malformed.
pub fn parse(code: &str, place: ScriptPlace) -> Parsed<Result<Vec<Statement>, String>> {
    let mut cursor = Cursor::new(code, place);
    let mut statements = Vec::new();
    loop {
        cursor.take_while(|c| c.is_whitespace() || c == ';' || c == '\\');
        if cursor.at("#") {
            cursor.take_while(|c| c != '\n');
            continue;
        }
        if cursor.peek().is_none() {
            return Ok(Ok(statements));
        }
        let start = cursor.place();
        let before = cursor.rest();
        let tokens = tokens(&mut cursor)?;
        let text = before[..before.len() - cursor.rest().len()].trim().to_owned();
        if text.is_empty() {
            return cursor.expected("a statement");
        }
        let mut parser = ExpressionParser { tokens: &tokens, next: 0, depth: 0 };
        match parser.statement() {
            Ok(kind) => statements.push(Statement { text, kind }),
            Err(ExpressionStop::Unsupported(what)) => return Ok(Err(what)),
            Err(ExpressionStop::Malformed(place, message)) => return Cursor::error_at(place.unwrap_or(start), message),
        }
    }
}

/// The tokens of one statement, which ends at a line end or semicolon outside brackets.
fn tokens(cursor: &mut Cursor<'_>) -> Parsed<Vec<(ScriptPlace, Token)>> {
    let mut tokens = Vec::new();
    let mut open = 0_u32;
    loop {
        cursor.take_while(|c| c == ' ' || c == '\t' || c == '\r' || c == '\\' || (c == '\n' && open > 0));
        let place = cursor.place();
        let token = match cursor.peek() {
            None | Some('\n' | ';') => break,
            Some('#') => {
                cursor.take_while(|c| c != '\n');
                continue;
            }
            Some(c) if c.is_ascii_digit() => number(cursor)?,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                Token::Word(cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_owned())
            }
            Some(quote @ ('\'' | '"')) => {
                cursor.bump();
                let text = cursor.take_while(|c| c != quote && c != '\n').to_owned();
                if cursor.bump() != Some(quote) {
                    return Cursor::error_at(place, "this string has no end");
                }
                Token::Text(text)
            }
            Some(_) => match SIGNS.iter().find(|sign| cursor.eat(sign)) {
                Some(&sign) => {
                    match sign {
                        "(" | "[" | "{" => open += 1,
                        ")" | "]" | "}" => open = open.saturating_sub(1),
                        _ => {}
                    }
                    Token::Sign(sign)
                }
                None => return cursor.expected("an expression"),
            },
        };
        tokens.push((place, token));
    }
    tokens.push((cursor.place(), Token::End));
    Ok(tokens)
}

fn number(cursor: &mut Cursor<'_>) -> Parsed<Token> {
    let place = cursor.place();
    let value = if cursor.eat("0x") {
        i64::from_str_radix(cursor.take_while(|c| c.is_ascii_hexdigit()), 16).ok().map(|value| value as f64)
    } else {
        cursor.take_while(|c| c.is_ascii_digit() || c == '.').parse().ok()
    };
    match value {
        Some(value) => Ok(Token::Number(value)),
        None => Cursor::error_at(place, "this is no number"),
    }
}

enum ExpressionStop {
    Unsupported(String),
    Malformed(Option<ScriptPlace>, String),
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, ExpressionStop> {
    Err(ExpressionStop::Unsupported(what.into()))
}

struct ExpressionParser<'a> {
    tokens: &'a [(ScriptPlace, Token)],
    next: usize,
    depth: u32,
}

impl ExpressionParser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(_, token)| token)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(own) if *own == sign);
        self.next += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(own) if own == word);
        self.next += usize::from(found);
        found
    }

    /// The next token, if it is one of `tokens`.
    fn at_any(&self, tokens: &[&str]) -> Option<&str> {
        match self.peek() {
            Token::Sign(text) => Some(*text),
            Token::Word(text) => Some(text.as_str()),
            _ => None,
        }
        .filter(|text| tokens.contains(text))
    }

    /// Stops after an expression that does not end as expected: a construct of Python that this language lacks is
    /// unsupported, anything else is malformed.
    fn stop_after<T>(&self, expected: &str) -> Result<T, ExpressionStop> {
        match (self.at_any(&CONTINUATIONS), self.peek()) {
            (Some(text), _) => unsupported(format!("`{text}` in code")),
            (None, Token::Text(_)) => unsupported("strings in a row or with a prefix in code"),
            _ => self.malformed(expected),
        }
    }

    fn malformed<T>(&self, message: &str) -> Result<T, ExpressionStop> {
        Err(ExpressionStop::Malformed(self.tokens.get(self.next).map(|(place, _)| *place), message.to_owned()))
    }

    fn statement(&mut self) -> Result<StatementKind, ExpressionStop> {
        const KEYWORDS: [&str; 15] = [
            "if", "elif", "else", "for", "while", "def", "import", "from", "class", "return", "try", "with", "del",
            "raise", "lambda",
        ];
        let Token::Word(word) = self.peek().clone() else {
            return unsupported("code that is neither an assertion nor an assignment");
        };
        if KEYWORDS.contains(&word.as_str()) {
            return unsupported(format!("`{word}` in code"));
        }
        self.next += 1;
        if word == "assert" {
            let condition = self.expression()?;
            if self.eat(",") {
                // The message of the assertion is parsed and ignored; it may be a tuple without brackets.
                self.expression()?;
            }
            self.end()?;
            return Ok(StatementKind::Assert(condition));
        }
        if word == "print" || word == "pass" {
            return Ok(StatementKind::Print);
        }
        for (sign, operator) in [("=", None), ("+=", Some("+")), ("-=", Some("-")), ("*=", Some("*"))] {
            if self.eat(sign) {
                let value = self.expression()?;
                self.end()?;
                return Ok(StatementKind::Assign(word, operator, value));
            }
        }
        unsupported(format!("the statement that begins with `{word}`"))
    }

    fn end(&self) -> Result<(), ExpressionStop> {
        if *self.peek() == Token::End { Ok(()) } else { self.stop_after("expected the end of the statement") }
    }

    fn expression(&mut self) -> Result<ScriptExpression, ExpressionStop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.malformed("expressions are nested too deeply");
        }
        let mut left = self.conjunction()?;
        while self.eat_word("or") {
            left = ScriptExpression::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<ScriptExpression, ExpressionStop> {
        let mut left = self.negation()?;
        while self.eat_word("and") {
            left = ScriptExpression::And(Box::new(left), Box::new(self.negation()?));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<ScriptExpression, ExpressionStop> {
        let mut negations = 0_u32;
        while self.eat_word("not") {
            negations += 1;
        }
        let inner = self.comparison()?;
        Ok(match negations {
            0 => inner,
            n if n % 2 == 1 => ScriptExpression::Not(Box::new(inner)),
            _ => ScriptExpression::Not(Box::new(ScriptExpression::Not(Box::new(inner)))),
        })
    }

    fn comparison(&mut self) -> Result<ScriptExpression, ExpressionStop> {
        let left = self.binary(0)?;
        let mut chain = Vec::new();
        while let Some(comparison) = COMPARISONS.into_iter().find(|sign| self.eat(sign)) {
            chain.push((comparison, self.binary(0)?));
        }
        Ok(if chain.is_empty() { left } else { ScriptExpression::Compare(Box::new(left), chain) })
    }

    /// Parses operations of this level of [`BINARIES`] and of those that bind more tightly.
    fn binary(&mut self, level: usize) -> Result<ScriptExpression, ExpressionStop> {
        let Some(operators) = BINARIES.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|sign| self.eat(sign)) {
            left = ScriptExpression::Binary(operator, Box::new(left), Box::new(self.binary(level + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<ScriptExpression, ExpressionStop> {
        let mut negative = false;
        loop {
            if self.eat("-") {
                negative = !negative;
            } else if !self.eat("+") {
                break;
            }
        }
        let inner = self.primary()?;
        Ok(if negative { ScriptExpression::Negate(Box::new(inner)) } else { inner })
    }

    fn primary(&mut self) -> Result<ScriptExpression, ExpressionStop> {
        if let Some(text) = self.at_any(&BEGINNINGS) {
            return unsupported(format!("`{text}` in code"));
        }
        if self.at_any(&RESERVED).is_some() {
            return self.malformed("expected a value");
        }
        let token = self.peek().clone();
        self.next += 1;
        match token {
            Token::Number(value) => Ok(ScriptExpression::Number(value)),
            Token::Text(text) => Ok(ScriptExpression::Text(text)),
            Token::Word(word) => {
                if !self.eat("(") {
                    return match self.peek() {
                        Token::Sign("." | "[") => unsupported(format!("an attribute of `{word}` in code")),
                        _ => Ok(ScriptExpression::Name(word)),
                    };
                }
                let arguments = self.list()?;
                if ["abs", "min", "max", "int", "len"].contains(&word.as_str()) {
                    Ok(ScriptExpression::Apply(word, arguments))
                } else {
                    unsupported(format!("the function `{word}` in code"))
                }
            }
            Token::Sign("(") => {
                let mut items = self.list()?;
                Ok(if items.len() == 1 { items.swap_remove(0) } else { ScriptExpression::Tuple(items) })
            }
            _ => {
                self.next -= 1;
                self.malformed("expected a value")
            }
        }
    }

    fn list(&mut self) -> Result<Vec<ScriptExpression>, ExpressionStop> {
        let mut items = Vec::new();
        while !self.eat(")") {
            if !items.is_empty() && !self.eat(",") {
                return self.stop_after("expected `,` or `)`");
            }
            if self.eat(")") {
                break;
            }
            items.push(self.expression()?);
        }
        Ok(items)
    }
}

/// Variables set by code; they last until the end of the script.
pub type Variables = BTreeMap<String, ExpressionValue>;

/// Runs `statements`; `lookup` returns the variables of the connection.
///
/// # Errors
/// At the first false assertion or unknown name.
pub fn run(
    statements: &[Statement],
    variables: &mut Variables,
    lookup: &dyn Fn(&str) -> Option<i64>,
) -> Result<(), ScriptStop> {
    for statement in statements {
        let get = |name: &str| {
            variables.get(name).cloned().or_else(|| lookup(name).map(|value| ExpressionValue::Number(value as f64)))
        };
        match &statement.kind {
            StatementKind::Print => {}
            StatementKind::Assert(condition) => {
                if !truth(&evaluate(condition, &get).map_err(ScriptStop::Unsupported)?) {
                    let mut names = Vec::new();
                    name_all(condition, &mut names);
                    let values: Vec<_> = names
                        .iter()
                        .filter_map(|name| get(name).map(|value| format!("{name} = {}", show(&value))))
                        .collect();
                    let text = format!("`{}` is false: {}", statement.text, values.join(", "));
                    return ScriptStop::differs(text);
                }
            }
            StatementKind::Assign(name, operator, value) => {
                let mut value = evaluate(value, &get).map_err(ScriptStop::Unsupported)?;
                if let Some(operator) = operator {
                    let old = get(name).ok_or_else(|| ScriptStop::Unsupported(format!("the name `{name}`")))?;
                    value = compute(operator, &old, &value).map_err(ScriptStop::Unsupported)?;
                }
                variables.insert(name.clone(), value);
            }
        }
    }
    Ok(())
}

/// Collects the names in an expression, each once.
fn name_all<'a>(expression: &'a ScriptExpression, names: &mut Vec<&'a str>) {
    match expression {
        ScriptExpression::Name(name) => {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        ScriptExpression::Number(_) | ScriptExpression::Text(_) => {}
        ScriptExpression::Tuple(items) | ScriptExpression::Apply(_, items) => {
            items.iter().for_each(|item| name_all(item, names))
        }
        ScriptExpression::Not(inner) | ScriptExpression::Negate(inner) => name_all(inner, names),
        ScriptExpression::And(a, b) | ScriptExpression::Or(a, b) | ScriptExpression::Binary(_, a, b) => {
            name_all(a, names);
            name_all(b, names);
        }
        ScriptExpression::Compare(first, chain) => {
            name_all(first, names);
            chain.iter().for_each(|(_, item)| name_all(item, names));
        }
    }
}

fn show(value: &ExpressionValue) -> String {
    match value {
        ExpressionValue::Number(number) => number.to_string(),
        ExpressionValue::Text(text) => format!("'{text}'"),
    }
}

fn truth(value: &ExpressionValue) -> bool {
    match value {
        ExpressionValue::Number(number) => *number != 0.0,
        ExpressionValue::Text(text) => !text.is_empty(),
    }
}

fn evaluate(
    expression: &ScriptExpression,
    get: &dyn Fn(&str) -> Option<ExpressionValue>,
) -> Result<ExpressionValue, String> {
    let eval = |inner: &ScriptExpression| evaluate(inner, get);
    let logical = |value: bool| Ok(ExpressionValue::Number(f64::from(value)));
    match expression {
        ScriptExpression::Number(value) => Ok(ExpressionValue::Number(*value)),
        ScriptExpression::Text(text) => Ok(ExpressionValue::Text(text.clone())),
        ScriptExpression::Name(name) => match name.as_str() {
            "True" => logical(true),
            "False" => logical(false),
            _ => get(name).ok_or_else(|| format!("the name `{name}`")),
        },
        ScriptExpression::Tuple(_) => Err("a tuple as a value".to_owned()),
        ScriptExpression::Not(inner) => logical(!truth(&eval(inner)?)),
        ScriptExpression::Negate(inner) => Ok(ExpressionValue::Number(-number_of(&eval(inner)?)?)),
        ScriptExpression::And(left, right) => {
            let left = eval(left)?;
            if truth(&left) { eval(right) } else { Ok(left) }
        }
        ScriptExpression::Or(left, right) => {
            let left = eval(left)?;
            if truth(&left) { Ok(left) } else { eval(right) }
        }
        ScriptExpression::Binary(operator, left, right) => compute(operator, &eval(left)?, &eval(right)?),
        ScriptExpression::Compare(first, chain) => {
            let mut left = eval(first)?;
            for (comparison, right) in chain {
                let right = eval(right)?;
                if !holds(comparison, &left, &right)? {
                    return logical(false);
                }
                left = right;
            }
            logical(true)
        }
        ScriptExpression::Apply(name, arguments) => {
            let values = arguments.iter().map(eval).collect::<Result<Vec<_>, _>>()?;
            if let ("len", [ExpressionValue::Text(text)]) = (name.as_str(), values.as_slice()) {
                return Ok(ExpressionValue::Number(text.chars().count() as f64));
            }
            let numbers = values.iter().map(number_of).collect::<Result<Vec<_>, _>>()?;
            match (name.as_str(), numbers.as_slice()) {
                ("abs", [value]) => Ok(ExpressionValue::Number(value.abs())),
                ("int", [value]) => Ok(ExpressionValue::Number(value.trunc())),
                ("min", [first, rest @ ..]) => Ok(ExpressionValue::Number(rest.iter().fold(*first, |a, b| a.min(*b)))),
                ("max", [first, rest @ ..]) => Ok(ExpressionValue::Number(rest.iter().fold(*first, |a, b| a.max(*b)))),
                _ => Err(format!("`{name}` with these arguments")),
            }
        }
    }
}

fn number_of(value: &ExpressionValue) -> Result<f64, String> {
    match value {
        ExpressionValue::Number(number) => Ok(*number),
        ExpressionValue::Text(_) => Err("arithmetic with strings".to_owned()),
    }
}

fn compute(operator: &str, left: &ExpressionValue, right: &ExpressionValue) -> Result<ExpressionValue, String> {
    if let (ExpressionValue::Text(_), "%") = (left, operator) {
        return Err("a formatted string as a value".to_owned());
    }
    let (a, b) = (number_of(left)?, number_of(right)?);
    if matches!(operator, "/" | "//" | "%") && b == 0.0 {
        return Err("a division by zero".to_owned());
    }
    Ok(ExpressionValue::Number(match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "//" => (a / b).floor(),
        "%" => a - b * (a / b).floor(),
        "&" => ((a as i64) & (b as i64)) as f64,
        _ => ((a as i64) | (b as i64)) as f64,
    }))
}

fn holds(comparison: &str, left: &ExpressionValue, right: &ExpressionValue) -> Result<bool, String> {
    if matches!(comparison, "==" | "!=") {
        return Ok((left == right) == (comparison == "=="));
    }
    let (a, b) = (number_of(left)?, number_of(right)?);
    Ok(match comparison {
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        _ => a >= b,
    })
}

#[cfg(test)]
mod tests;
