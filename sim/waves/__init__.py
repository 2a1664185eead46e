"""Files of wave viewers, GTKWave and Surfer: the signals of a wave in groups, with number formats and golden's values."""
