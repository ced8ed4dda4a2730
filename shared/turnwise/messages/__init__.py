"""What responders say to each other: documents, and the tools found in them."""
