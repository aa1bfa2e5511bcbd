/** A server-sent event. */
export interface ServerEvent {
  /** `message` where the stream names none. */
  readonly event: string;
  readonly data: string;
}

/**
 * The events of a response, as they arrive (HTML standard, section 9.2). Leaving the loop aborts the
 * response. Comments and events without data are left out.
 */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let event = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop()!;
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { event: event || 'message', data: data.join('\n') };
          event = '';
          data = [];
          continue;
        }
        const [, name, text] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
        if (name === 'event') event = text ?? '';
        else if (name === 'data') data.push(text ?? '');
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
