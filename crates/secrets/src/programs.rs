//! Programs that take a password as an argument, and the options for it.

/// The position of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// `-pVALUE` or `-p VALUE`.
    Either,
    /// `-pVALUE` only; without a value the program prompts.
    Attached,
    /// `-p VALUE`.
    Next,
    /// `-u user:VALUE` or `-uuser:VALUE`.
    AfterColon,
    /// `-U user%VALUE`.
    AfterPercent,
    /// `user/VALUE@host`, a positional argument.
    AfterSlash,
    /// The word after this word.
    Word,
    /// The word after the next one.
    Second,
    /// The last word, if the option is present.
    Last,
}

/// A program, a subcommand that must follow (if any), and its options.
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) needs: &'static str,
    pub(super) options: &'static [(&'static str, Takes)],
}

const fn program(name: &'static str, options: &'static [(&'static str, Takes)]) -> Program {
    Program { name, needs: "", options }
}

const fn login(name: &'static str, options: &'static [(&'static str, Takes)]) -> Program {
    Program { name, needs: "login", options }
}

const P: &[(&str, Takes)] = &[("-p", Takes::Either)];
const MYSQL: &[(&str, Takes)] = &[("-p", Takes::Either), ("password", Takes::Word)];
const CREDS: &[(&str, Takes)] = &[
    ("--creds", Takes::AfterColon),
    ("--src-creds", Takes::AfterColon),
    ("--dest-creds", Takes::AfterColon),
    ("-p", Takes::Either),
];
const LDAP: &[(&str, Takes)] = &[("-w", Takes::Either)];
const MOSQUITTO: &[(&str, Takes)] = &[("-P", Takes::Next)];
const SAMBA: &[(&str, Takes)] = &[("-U", Takes::AfterPercent), ("--user", Takes::AfterPercent)];
const SEVEN: &[(&str, Takes)] = &[("-p", Takes::Attached)];
const SNMP: &[(&str, Takes)] = &[("-A", Takes::Next), ("-X", Takes::Next), ("-c", Takes::Next)];
const ZIP: &[(&str, Takes)] = &[("-P", Takes::Either)];
const PLINK: &[(&str, Takes)] = &[("-pw", Takes::Next), ("-pwfile", Takes::Attached)];
const SQLPLUS: &[(&str, Takes)] = &[("", Takes::AfterSlash)];
const OPENSSL: &[(&str, Takes)] = &[
    ("-k", Takes::Next),
    ("-K", Takes::Next),
    ("-pass", Takes::AfterColon),
    ("-passin", Takes::AfterColon),
    ("-passout", Takes::AfterColon),
];
const NONE: &[(&str, Takes)] = &[];

/// All programs, sorted by name. A program without options ends the call of the preceding one.
pub(super) const PROGRAMS: [Program; 90] = [
    program("7z", SEVEN),
    program("7za", SEVEN),
    program("7zr", SEVEN),
    program("7zz", SEVEN),
    login("az", P),
    program("bcp", &[("-P", Takes::Either)]),
    login("buildah", CREDS),
    program("cargo", NONE),
    login("cf", P),
    program("convertto-securestring", &[("", Takes::Word)]),
    program("cp", NONE),
    program("cqlsh", P),
    login("crane", P),
    program(
        "curl",
        &[
            ("-u", Takes::AfterColon),
            ("-U", Takes::AfterColon),
            ("--proxy-user", Takes::AfterColon),
            ("--oauth2-bearer", Takes::Next),
            ("--pass", Takes::Next),
            ("--proxy-pass", Takes::Next),
            ("-b", Takes::Next),
            ("--cookie", Takes::Next),
        ],
    ),
    login("docker", CREDS),
    program("git", NONE),
    login("helm", P),
    login("heroku", P),
    program("htpasswd", &[("b", Takes::Last)]),
    program("http", &[("-a", Takes::AfterColon), ("--auth", Takes::AfterColon)]),
    program("https", &[("-a", Takes::AfterColon), ("--auth", Takes::AfterColon)]),
    program("impdp", SQLPLUS),
    program("install", NONE),
    program("ipmitool", &[("-P", Takes::Either)]),
    program("isql", &[("-P", Takes::Either)]),
    program("keytool", NONE),
    program("kinit", NONE),
    program("ldapadd", LDAP),
    program("ldapdelete", LDAP),
    program("ldapmodify", LDAP),
    program("ldappasswd", &[("-w", Takes::Either), ("-s", Takes::Next), ("-a", Takes::Next)]),
    program("ldapsearch", LDAP),
    program("ldapwhoami", LDAP),
    program("lftp", &[("-u", Takes::AfterColon)]),
    program("lsof", NONE),
    program("make", NONE),
    program("mariadb", MYSQL),
    program("mariadb-admin", MYSQL),
    program("mariadb-dump", MYSQL),
    program("mkdir", NONE),
    program("mongo", P),
    program("mongodump", P),
    program("mongoexport", P),
    program("mongoimport", P),
    program("mongorestore", P),
    program("mongosh", P),
    program("mosquitto_pub", MOSQUITTO),
    program("mosquitto_sub", MOSQUITTO),
    program("mysql", MYSQL),
    program("mysqladmin", MYSQL),
    program("mysqldump", MYSQL),
    program("mysqlimport", MYSQL),
    program("mysqlsh", MYSQL),
    login("nerdctl", CREDS),
    program("ngrok", &[("add-authtoken", Takes::Word), ("authtoken", Takes::Word)]),
    program("node", NONE),
    login("oc", P),
    program("openssl", OPENSSL),
    login("oras", P),
    program("patch", NONE),
    program("plink", PLINK),
    login("podman", CREDS),
    program("ps", NONE),
    program("pscp", PLINK),
    program("psftp", PLINK),
    program("python", NONE),
    program("python3", NONE),
    program("rabbitmqctl", &[("add_user", Takes::Second), ("change_password", Takes::Second)]),
    program("rar", &[("-hp", Takes::Attached), ("-p", Takes::Attached)]),
    program("rclone", &[("obscure", Takes::Word)]),
    program("redis-cli", &[("-a", Takes::Either), ("--pass", Takes::Next)]),
    program("rpcclient", SAMBA),
    program("rsync", NONE),
    program("scp", NONE),
    program("skopeo", CREDS),
    program("smbclient", SAMBA),
    program("smbget", SAMBA),
    program("snmpget", SNMP),
    program("snmpwalk", SNMP),
    program("sqlcmd", &[("-P", Takes::Either)]),
    program("sqlplus", SQLPLUS),
    program("sshpass", P),
    program("tar", NONE),
    program("unrar", SEVEN),
    program("unzip", ZIP),
    program("useradd", P),
    program("usermod", P),
    program("vault", &[("login", Takes::Word)]),
    program("wpa_passphrase", &[("", Takes::Second)]),
    program("zip", ZIP),
];

/// Finds a program by its name in lower case.
pub(super) fn find(name: &[u8]) -> Option<&'static Program> {
    let at = PROGRAMS.binary_search_by(|program| program.name.as_bytes().cmp(name)).ok()?;
    PROGRAMS.get(at)
}
