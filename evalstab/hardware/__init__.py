"""Is the rig healthy, before a series and all the while it runs?"""
