//! What a line of shell says, once it is read: commands, what joins them, and words in parts. Nothing is expanded yet.

/// A list of commands, in order: `a; b`, `a && b`, a script.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct List(pub Vec<Step>);

/// One pipeline of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The commands, each one's output the next one's input.
    pub pipeline: Vec<Node>,
    /// When it happens.
    pub joint: Joint,
}

/// When a pipeline of a list happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// After the one before it: what stands after `;`, or first.
    Then,
    /// Where the one before it succeeded: after `&&`.
    And,
    /// Where the one before it failed: after `||`.
    Or,
}

/// One command, with its redirections.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Its redirections, in order.
    pub redirections: Vec<Redirection>,
}

/// The kinds of commands.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Assignments and words.
    Simple(Simple),
    /// `( … )`: what it sets is gone afterwards.
    Subshell(List),
    /// `coproc …`: what it reads is what the rest of the line writes.
    Coprocess(List),
    /// `{ …; }`
    Group(List),
    /// `if`, `while`, `until`, `for ((`: parts of which each may happen, or not.
    Branches {
        /// The parts.
        parts: Vec<List>,
        /// Whether they may happen again, with what they have set.
        repeats: bool,
    },
    /// `for name in words; do …; done`; without `in`, `words` is `"$@"`.
    For {
        /// The variable.
        variable: String,
        /// What it is set to in turn.
        words: Vec<Word>,
        /// What happens each time.
        body: List,
    },
    /// `case word in pattern) …;; esac`
    Case {
        /// What is compared, and with what: of interest for what they substitute.
        words: Vec<Word>,
        /// What may happen.
        arms: Vec<List>,
    },
    /// `name() …`
    Function {
        /// The name.
        name: String,
        /// What happens when it is called.
        body: std::rc::Rc<Node>,
    },
    /// `[[ … ]]`, `(( … ))`: nothing but what the words substitute.
    Test(Vec<Word>),
}

/// Assignments and words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Simple {
    /// `a=b` before the words.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments.
    pub words: Vec<Word>,
}

/// `name=value`, `name+=value`, `name=(values)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// One word, or those of an array.
    pub values: Vec<Word>,
    /// Whether it is an array, or an element of one.
    pub is_array: bool,
    /// Which element.
    pub index: Option<Word>,
    /// Whether it is added to what the variable was.
    pub append: bool,
}

/// Where a command reads from or writes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Redirection {
    /// `< file`, `<& descriptor`, for which descriptor.
    Read(u32, Word),
    /// `> file`, `>> file`, `>| file`, `<> file`, `&> file`, `>& file`, of which descriptor.
    Write(u32, Word),
    /// `<< word`, `<<< word`: the text itself.
    Text(Word),
}

/// A word: parts beside each other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Word(pub Vec<Part>);

/// A part of a word.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text without quotes: `*`, `?`, `[`, `{` and a first `~` mean something.
    Bare(String),
    /// Text that means itself.
    Quoted(String),
    /// `$name`, `${name…}`
    Variable(Box<Parameter>),
    /// `$(…)`, `` `…` ``: the text within.
    Substitution {
        /// The text within.
        source: String,
        /// Whether it stands between double quotes.
        quoted: bool,
    },
    /// `$((…))`: of interest for what it substitutes.
    Arithmetic(Word),
    /// `<(…)`, `>(…)`
    Process {
        /// What runs.
        list: List,
        /// Whether it reads what the command writes: `>(…)`.
        reads: bool,
    },
    /// As [`Self::Process`], within a word: the text within.
    ProcessText(String),
    /// `""`: nothing, but a word.
    Empty,
}

/// A parameter that is to be expanded.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name, or `1`, `@`, `#`, `?`.
    pub name: String,
    /// `[index]` after it.
    pub index: Option<Word>,
    /// What is done with its value.
    pub operation: Operation,
    /// Whether it stands between double quotes.
    pub quoted: bool,
    /// How it was written.
    pub written: String,
}

/// What is done with a parameter's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Nothing.
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
        /// What is removed.
        pattern: Word,
        /// From the end rather than from the start.
        suffix: bool,
        /// As much as possible.
        longest: bool,
    },
    /// `${name/pattern/word}`
    Replace {
        /// What is replaced.
        pattern: Word,
        /// By what.
        with: Word,
        /// Each time.
        all: bool,
    },
    /// `${name:offset:length}`
    Slice(Word, Option<Word>),
    /// `${name^}`, `${name^^}`, `${name,}`, `${name,,}`
    Case {
        /// To upper case.
        upper: bool,
        /// All of it, not only its first character.
        all: bool,
    },
    /// Something else: `${name@Q}`. Its words are of interest for what they substitute.
    Other(Word),
}
