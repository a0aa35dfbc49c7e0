//! The syntax tree of a shell command line. Nothing in it is expanded yet.

/// A list of pipelines: `a; b`, `a && b`, a script.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct List(pub Vec<Step>);

/// One pipeline of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The commands; each one's output is the next one's input.
    pub pipeline: Vec<Node>,
    /// How it follows the previous pipeline.
    pub connector: Connector,
}

/// How a pipeline follows the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connector {
    /// After `;`, or first in the list.
    Then,
    /// After `&&`: if the previous one succeeded.
    And,
    /// After `||`: if the previous one failed.
    Or,
}

/// A command and its redirections.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The command.
    pub kind: NodeKind,
    /// The redirections, in order.
    pub redirections: Vec<Redirection>,
}

/// A kind of command.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// A simple command.
    Simple(Simple),
    /// `( … )`: changes to variables are lost afterward.
    Subshell(List),
    /// `coproc …`: its input is what the rest of the line writes to it.
    Coprocess(List),
    /// `{ …; }`
    Group(List),
    /// `if`, `while`, `until`, `for ((`: parts that may or may not run.
    Branches {
        /// The parts.
        parts: Vec<List>,
        /// Whether they may run again with the variables they set.
        repeats: bool,
    },
    /// `for name in words; do …; done`. Without `in`, `words` is `"$@"`.
    For {
        /// The variable.
        variable: String,
        /// The values.
        words: Vec<Word>,
        /// The body.
        body: List,
    },
    /// `case word in pattern) …;; esac`
    Case {
        /// The word and the patterns, for the substitutions in them.
        words: Vec<Word>,
        /// The clauses, any of which may run.
        arms: Vec<List>,
    },
    /// `name() …`
    Function {
        /// The name.
        name: String,
        /// The body.
        body: std::rc::Rc<Node>,
    },
    /// `[[ … ]]`, `(( … ))`: the words, for the substitutions in them.
    Test(Vec<Word>),
}

/// A simple command: assignments and words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Simple {
    /// Assignments before the words.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments.
    pub words: Vec<Word>,
}

/// `name=value`, `name+=value`, `name=(values)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// One word, or the elements of an array.
    pub values: Vec<Word>,
    /// Whether an array or an element of one is assigned.
    pub is_array: bool,
    /// The subscript.
    pub index: Option<Word>,
    /// Whether the value is appended: `+=`.
    pub append: bool,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq)]
pub enum Redirection {
    /// `< file`, `<& descriptor`; with the descriptor it redirects.
    Read(u32, Word),
    /// `> file`, `>> file`, `>| file`, `<> file`, `&> file`, `>& file`; with the descriptor it redirects.
    Write(u32, Word),
    /// `<< word`, `<<< word`: the text itself.
    Text(Word),
}

/// A word as a sequence of parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Word(pub Vec<Part>);

/// A part of a word.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Unquoted text, in which `*`, `?`, `[`, `{` and a leading `~` are special.
    Unquoted(String),
    /// Quoted text.
    Quoted(String),
    /// `$name`, `${name…}`
    Variable(Box<Parameter>),
    /// Command substitution: `$(…)` or `` `…` ``.
    CommandSubstitution {
        /// The text within.
        source: String,
        /// Whether it is in double quotes.
        quoted: bool,
    },
    /// Arithmetic expansion `$((…))`, for the substitutions in it.
    Arithmetic(Word),
    /// Process substitution: `<(…)`, `>(…)`.
    ProcessSubstitution {
        /// The commands.
        list: List,
        /// Whether they read the command's output: `>(…)`.
        reads: bool,
    },
    /// Process substitution within a longer word, as text.
    ProcessSubstitutionText(String),
    /// `""`: an empty word.
    Empty,
}

/// A parameter expansion.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name, or `1`, `@`, `#`, `?`.
    pub name: String,
    /// The subscript.
    pub index: Option<Word>,
    /// The operation on the value.
    pub operation: Operation,
    /// Whether it is in double quotes.
    pub quoted: bool,
    /// The expansion as written.
    pub written: String,
}

/// An operation on a parameter's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// `$name`
    Value,
    /// `${#name}`
    Length,
    /// `${!name}`
    Indirect,
    /// `${name:-word}`, `${name-word}`
    Default(Word),
    /// `${name:=word}`, `${name=word}`
    Assign(Word),
    /// `${name:+word}`, `${name+word}`
    Alternative(Word),
    /// `${name:?word}`, `${name?word}`
    Require(Word),
    /// `${name#word}`, `##`, `%`, `%%`
    Remove {
        /// The pattern to remove.
        pattern: Word,
        /// From the end rather than the start.
        suffix: bool,
        /// The longest match.
        longest: bool,
    },
    /// `${name/pattern/word}`
    Replace {
        /// The pattern to replace.
        pattern: Word,
        /// The replacement.
        with: Word,
        /// All matches.
        all: bool,
    },
    /// `${name:offset:length}`
    Slice(Word, Option<Word>),
    /// `${name^}`, `${name^^}`, `${name,}`, `${name,,}`
    Case {
        /// To upper case.
        upper: bool,
        /// All characters rather than the first.
        all: bool,
    },
    /// Any other, such as `${name@Q}`, for the substitutions in its words.
    Other(Word),
}
