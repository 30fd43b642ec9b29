"""The file tools that an agent may call, confined to a workspace."""
