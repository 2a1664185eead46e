"""Instructions of an NKI kernel on the RTL units of Trainium3, each result compared with golden's."""
