import { useRef, useState } from 'preact/hooks';
import { type ApiError, apiErrorOf } from './request.ts';

/** Something that the reader does, and how it went. */
export interface Action<Arguments extends readonly unknown[]> {
  /** Why it failed the last time. */
  readonly error: ApiError | undefined;
  readonly isBusy: boolean;
  readonly run: (...given: Arguments) => Promise<void>;
  readonly forgetError: () => void;
}

/** Runs something once at a time. @param act rejects where it fails */
export function useAction<Arguments extends readonly unknown[]>(
  act: (...given: Arguments) => Promise<void>,
): Action<Arguments> {
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const isRunning = useRef(false);
  const run = async (...given: Arguments) => {
    // The state is a rendering late for the second click of a double click.
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setError(undefined);
    await act(...given).catch((failure: unknown) => setError(apiErrorOf(failure)));
    isRunning.current = false;
    setBusy(false);
  };
  return { error, isBusy, run, forgetError: () => setError(undefined) };
}
