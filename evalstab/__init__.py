"""evalstab: is a self-hosted model's judgement stable at long context?"""
