"""What is asked: tasks are read, validated and hashed here, and their deliverables checked."""
