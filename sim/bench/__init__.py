"""Speed measured: golden's rates beside yardsticks of the same run."""
