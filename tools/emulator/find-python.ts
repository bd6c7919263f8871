// Prints a Python that the interpreter of state machines runs on, or says what is missing and ends with 1.
import { findPython } from './state-machines.ts';

const python = await findPython();
if (python === undefined) console.error('the interpreter of state machines needs Python 3.13 or newer with venv; none was found');
else console.log(python);
process.exitCode = python === undefined ? 1 : 0;
