import { h } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Loads a live page again and again, until somebody does something on it, which would be lost. */
export function Refresh({ seconds }) {
  const [paused, setPaused] = useState(false);
  useEffect(() => {
    const pause = () => setPaused(true);
    const main = document.querySelector("main");
    main.addEventListener("click", pause);
    main.addEventListener("keydown", pause);
  }, []);
  useEffect(() => {
    const timer = paused ? 0 : setTimeout(() => location.reload(), 1000 * seconds);
    return () => clearTimeout(timer);
  }, [paused]);
  return (
    <p class="tools">
      <output>{paused ? "Paused: the page stays as it is." : `Live: the page is renewed every ${seconds} s.`}</output>
      <button type="button" onClick={() => setPaused(!paused)}>{paused ? "Go on" : "Pause"}</button>
    </p>
  );
}
