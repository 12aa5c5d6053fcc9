"""The paper as specs, studies, figures and published numbers; nothing but the command line imports it."""
