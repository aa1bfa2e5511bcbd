/** A server-sent event with the name of its type, as messages and responses have them. */
export function namedFrame(event: { readonly type: string; readonly [key: string]: unknown }) {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
