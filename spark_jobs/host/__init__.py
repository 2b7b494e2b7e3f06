"""One Spark application that hosts changefeeds: its session, its lease, its link to the control plane."""
