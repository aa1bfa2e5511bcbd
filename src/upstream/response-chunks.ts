import type { UpstreamResponse } from './response.ts';

/** The chunks of a body, with backpressure. Aborts the response when the consumer returns early. */
export async function* responseChunks(response: UpstreamResponse): AsyncGenerator<Buffer, void> {
  const queue: Buffer[] = [];
  let wake = () => {};
  let end: { readonly failure?: unknown } | null = null;
  const finish = (result: { readonly failure?: unknown }) => {
    end = result;
    wake();
  };
  response
    .read((chunk) => {
      queue.push(chunk);
      wake();
      return false;
    })
    .then(
      () => finish({}),
      (failure: unknown) => finish({ failure }),
    );
  try {
    for (;;) {
      const chunk = queue.shift();
      if (chunk !== undefined) {
        yield chunk;
        response.resume();
      } else if (end !== null) {
        const { failure } = end as { readonly failure?: unknown };
        if (failure !== undefined) throw failure;
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    response.abort();
  }
}
