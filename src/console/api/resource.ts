import { useEffect, useRef, useState } from 'preact/hooks';
import type { PublishedModel } from '../../config/catalog/published-model.ts';
import type { AccountAnswer } from '../../http/routes/account/account.ts';
import { type ApiError, apiErrorOf, isAborted, sendJson } from './request.ts';

/** What a view loads from the server. */
export interface Resource<Data> {
  /** The last that was loaded, which stays while it is loaded again. */
  readonly data: Data | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

/**
 * Loads something, and again when an input changes. Leaving the view aborts the request.
 *
 * @param load passes the signal to `send` or `sendJson`
 */
export function useResource<Data>(
  load: (signal: AbortSignal) => Promise<Data>,
  inputs: readonly unknown[],
): Resource<Data> {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Omit<Resource<Data>, 'reload'>>({
    data: undefined,
    error: undefined,
    isLoading: true,
  });
  useEffect(() => {
    const controller = new AbortController();
    setState(({ data }) => ({ data, error: undefined, isLoading: true }));
    load(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ data, error: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (controller.signal.aborted || isAborted(error)) return;
        const failure = apiErrorOf(error);
        setState(({ data }) => ({ data, error: failure, isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [...inputs, turn]);
  return { ...state, reload: () => setTurn((value) => value + 1) };
}

/** Loads JSON of the server, and again when its path changes. */
export function useJson<Data>(path: string, inputs: readonly unknown[] = []): Resource<Data> {
  return useResource((signal) => sendJson<Data>(path, { signal }), [path, ...inputs]);
}

/** Loads a resource again at an interval, while the page is visible. */
export function useRefresh(reload: () => void, milliseconds: number): void {
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
}

export type SessionKey = AccountAnswer['key'];

/** The account of the session, with its credits. */
export function useAccount(inputs?: readonly unknown[]): Resource<AccountAnswer> {
  return useJson('v1/account', inputs);
}

export type Model = PublishedModel;

/** Loads the models that the session's key may use. @throws ApiError */
export async function loadModels(signal: AbortSignal): Promise<readonly Model[]> {
  const { data } = await sendJson<{ data: Model[] }>('v1/models', { signal });
  return data;
}

export const useModels = (): Resource<readonly Model[]> => useResource(loadModels, []);
