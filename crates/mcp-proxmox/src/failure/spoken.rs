//! Who is spoken to. What tools say is written for an agent, which has a user; at a shell the reader is that user.
//!
//! **Only words of our own are changed**: whole phrases that are in our hints, and nothing of what PVE or a guest said.

/// What an agent is told, and what the user themselves are. A phrase stands before its parts.
const PHRASES: &[(&str, &str)] = &[
    ("only the user can mend this: ", ""),
    ("; do not try a way around it", ""),
    (
        "only a server that was started with PVE_ACCESS_TIER=write has it; its user decides that",
        "PVE_ACCESS_TIER=write, or --access-tier write, allows that",
    ),
    ("ask the user: ", "you are asked: "),
    ("If they agree, call again with `confirm: true`", "To agree, call again with --yes"),
    // Whoever types the call need not be told to ask themselves.
    ("only with the user's consent ", "as the last resort "),
    (", with the user's consent,", ""),
    ("with the user's consent ", ""),
    ("the user has ", "you have "),
    ("the user's ", "your "),
    ("the user ", "you "),
];

/// A hint of ours, said to the user instead of their agent.
pub fn to_person(hint: &str) -> String {
    PHRASES.iter().fold(hint.to_owned(), |hint, (agent, person)| hint.replace(agent, person))
}

/// The same for what happened, which may repeat what others wrote: one phrase alone is changed there.
pub(super) fn consent_to_person(what: &str) -> String {
    what.replace(" needs the user's consent, and ", " needs your consent, and ")
}

#[cfg(test)]
mod tests {
    use crate::failure::Failure;

    #[test]
    fn a_person_is_spoken_to_and_an_agent_is_told_of_its_user() {
        let failure = Failure::new("to stop `a` needs the user's consent, and nobody said so")
            .hint("ask the user: \u{201c}Stop `a`?\u{201d} If they agree, call again with `confirm: true`");
        assert!(failure.to_string().contains("ask the user"));
        assert_eq!(
            failure.for_person().to_string(),
            "to stop `a` needs your consent, and nobody said so\n\n\
             hint: you are asked: \u{201c}Stop `a`?\u{201d} To agree, call again with --yes"
        );
    }
}
