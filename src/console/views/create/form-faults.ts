import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { faultsOf, fieldsFor } from './fields.ts';
import type { Studio } from './studio.ts';

/** Fields of the form that no declaration has. */
const FIXED = ['model', 'prompt', 'size'];

/** Parameters of the API that errors about the images to start from state. */
const INPUT_PARAM = /^(image|mask|input_images)/;

export type FormFaults = ReturnType<typeof useFormFaults>;

/** The faults of a draft, and where the form shows them. */
export function useFormFaults(form: RefObject<HTMLFormElement | null>, studio: Studio) {
  const { draft, error, isBusy } = studio;
  const [isTried, setTried] = useState(false);
  const [isMoreOpen, setMoreOpen] = useState(false);
  const faults = faultsOf(studio);
  const specs = fieldsFor(studio);
  const param = error?.param ?? null;
  const isMore = (name: string) => specs.some((spec) => spec.isMore && spec.name === name);
  useEffect(() => {
    if (param !== null && isMore(param)) setMoreOpen(true);
  }, [error]);
  useEffect(() => {
    // A button that is disabled while it is busy loses the focus.
    if (!isBusy && isTried && document.activeElement === document.body) {
      form.current!.querySelector<HTMLElement>('[type=submit]')!.focus({ preventScroll: true });
    }
  }, [isBusy]);
  const isOfInputs = param !== null && INPUT_PARAM.test(param);
  const isShown =
    isOfInputs || [...FIXED, ...specs.map(({ name }) => name)].some((name) => name === param);
  return {
    /** What is wrong with a field, by the browser or by the server. */
    faultOf: (name: string) => {
      if (param === name) return error!.message;
      // An empty field is not wrong before the first try.
      const isUntouched = name === 'prompt' && draft.values['prompt'] === undefined;
      return isUntouched && !isTried ? undefined : faults[name];
    },
    /** What the server refused about the images to start from. */
    inputFault: isOfInputs ? error!.message : undefined,
    /** The server's error, unless it stands at a field. */
    error: isShown ? undefined : error,
    /** Whether the fields that are folded away are shown. */
    isMoreOpen,
    setMoreOpen,
    /** Shows all faults and moves the focus to the first. @returns whether there are none */
    check: () => {
      setTried(true);
      const names = Object.keys(faults);
      if (names.length === 0) return true;
      if (names.some(isMore)) setMoreOpen(true);
      // After the faults are rendered.
      setTimeout(() => form.current!.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
      return false;
    },
    /** Forgets that the form was sent, so that empty fields are no faults. */
    reset: () => setTried(false),
  };
}
